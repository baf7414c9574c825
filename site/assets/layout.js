/* Where a graph's nodes and edges lie: layered left to right, by dagre. The explorer lays out what a reader looks at;
   the site's build (report/drawings.py) the whole of a small graph, so that it is the same picture without scripts. */
(function () {
  "use strict";
  // Shapes on edges help while they can be read.
  const LABELLED = 60;
  const tenth = (value) => Math.round(value * 10) / 10;

  // nodes: [{id, op, shape}]; edges: [[source, target]], those between other nodes are left out.
  // Gives {width, height, places: [[id, {x, y, width, height}]] by centre, edges: [{path, label?, x?, y?}]}.
  window.tensorAssetsLayout = function (nodes, edges) {
    const labelled = nodes.length <= LABELLED;
    // dagre keeps names in plain objects, where a node called __proto__ would be lost: it gets numbers.
    const numbers = new Map(nodes.map(({ id }, at) => [id, String(at)]));
    const plan = new window.dagre.graphlib.Graph({ multigraph: true });
    plan.setGraph({ rankdir: "LR", nodesep: 16, ranksep: labelled ? 26 : 48, marginx: 12, marginy: 12 });
    plan.setDefaultEdgeLabel(() => ({}));
    for (const { id, op } of nodes) plan.setNode(numbers.get(id), { width: Math.max(op.length * 8, id.length * 6.4, 40) + 22, height: 40 });
    edges.map((edge) => edge.map((id) => numbers.get(id))).forEach(([source, target], at) => {
      if (source === undefined || target === undefined) return;
      const shape = labelled ? nodes[source].shape : "";
      plan.setEdge(source, target, shape ? { width: shape.length * 6 + 8, height: 12, labelpos: "c" } : {}, "e" + at);
    });
    window.dagre.layout(plan);
    const { width, height } = plan.graph();
    return {
      width: tenth(width),
      height: tenth(height),
      places: nodes.map(({ id }) => {
        const { x, y, width, height } = plan.node(numbers.get(id));
        return [id, { x: tenth(x), y: tenth(y), width: tenth(width), height }];
      }),
      edges: plan.edges().map((edge) => {
        const { points, x, y, width } = plan.edge(edge);
        const path = curve(points);
        return width ? { path, label: nodes[edge.v].shape, x: tenth(x), y: tenth(y - 4) } : { path };
      }),
    };
  };

  function curve(points) {
    const [first, ...rest] = points.map(({ x, y }) => ({ x: tenth(x), y: tenth(y) }));
    let [path, from] = [`M${first.x} ${first.y}`, first];
    for (const to of rest) {
      const middle = tenth((from.x + to.x) / 2);
      path += `C${middle} ${from.y} ${middle} ${to.y} ${to.x} ${to.y}`;
      from = to;
    }
    return path;
  }
})();
