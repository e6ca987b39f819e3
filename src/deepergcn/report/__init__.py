"""Tables, charts, HTML reports, model cards and TensorBoard events from run directories and studies."""
