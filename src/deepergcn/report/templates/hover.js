(function () {
  "use strict";
  var tip = document.getElementById("tip");
  function show(text, event) {
    tip.textContent = text;
    tip.style.display = "block";
    var x = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
    tip.style.left = Math.max(x, 4) + "px";
    tip.style.top = Math.max(event.clientY - tip.offsetHeight - 10, 4) + "px";
  }
  function nearest(svg, event) {
    var place = svg.createSVGPoint(), best = null, least = 400;
    place.x = event.clientX;
    place.y = event.clientY;
    place = place.matrixTransform(svg.getScreenCTM().inverse());
    svg.querySelectorAll("g.series:not(.off) desc").forEach(function (note) {
      var values = note.dataset.values.split(";");
      note.parentNode.querySelector("polyline").getAttribute("points").split(" ").forEach(function (pair, i) {
        var xy = pair.split(","), d = Math.pow(xy[0] - place.x, 2) + Math.pow(xy[1] - place.y, 2);
        if (d < least) {
          least = d;
          var value = values[i].split(",");
          best = note.parentNode.dataset.name + "\n" + svg.dataset.x + " " + value[0] + ": " + value[1];
        }
      });
    });
    return best;
  }
  document.querySelectorAll("svg.chart").forEach(function (svg) {
    svg.addEventListener("pointermove", function (event) {
      var text = event.target.dataset && event.target.dataset.tip ? event.target.dataset.tip : nearest(svg, event);
      if (text) { show(text, event); } else { tip.style.display = "none"; }
    });
    svg.addEventListener("pointerleave", function () { tip.style.display = "none"; });
    svg.querySelectorAll(".legend").forEach(function (entry) {
      entry.addEventListener("click", function () {
        var off = entry.classList.toggle("off");
        svg.querySelectorAll("g.series").forEach(function (line) {
          if (line.dataset.name === entry.dataset.name) { line.classList.toggle("off", off); }
        });
      });
    });
  });
  function open() {
    var found = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!found || found.tagName !== "DETAILS") { return; }
    document.querySelectorAll("details").forEach(function (run) {
      if (run.dataset.cell === found.dataset.cell) { run.open = true; }
    });
    found.scrollIntoView();
  }
  window.addEventListener("hashchange", open);
  window.addEventListener("beforeprint", function () {
    tip.style.display = "none";
  });
  open();
  document.documentElement.dataset.ready = "yes";
})();
