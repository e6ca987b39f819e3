"""Files of molecules of any length, predicted or embedded a part at a time: here, in processes, on a cluster."""
