"""Train on a table of nodes and a table of edges, and predict the team of every node.

Each of 120 people calls four others of the same team. The only feature of a person is
a score that differs little between the teams: alone it decides few cases, the mean
over the people one talks to decides most.

It prints::

    nodes 120, edges 480
    columns ['id', 'class', 'p(red)']
    right for at least 90 of 120 people: True
"""

from pathlib import Path

import deepergcn

if __name__ == "__main__":
    team = ["blue" if person % 2 == 0 else "red" for person in range(120)]
    nodes, edges = ["id,team,score"], ["source,target"]
    for person in range(120):
        score = (person * 37) % 11 + (team[person] == "red") * 2
        nodes.append(f"p{person},{team[person]},{score}")
        edges += [f"p{person},p{(person + 2 * step) % 120}" for step in (1, 3, 7, 12)]
    Path("people.csv").write_text("\n".join(nodes) + "\n", encoding="utf-8")
    Path("calls.csv").write_text("\n".join(edges) + "\n", encoding="utf-8")
    print(f"nodes {len(nodes) - 1}, edges {len(edges) - 1}")

    small = {"model.num_layers": 3, "model.hidden_channels": 16}
    model = deepergcn.train(
        graph=("people.csv", "calls.csv"),
        label="team",
        epochs=30,
        settings=small,
        out="runs/teams",
    )

    columns = model.predict("people.csv", "calls.csv").columns()
    print(f"columns {list(columns)}")
    right = sum(
        said == known for said, known in zip(columns["class"], team, strict=True)
    )
    print(f"right for at least 90 of 120 people: {right >= 90}")
