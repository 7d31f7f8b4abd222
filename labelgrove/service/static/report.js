// A report is as high as its content, so that only the page around it scrolls.
const frame = document.querySelector("iframe.report");

function fit() {
  const inner = frame.contentDocument?.documentElement;
  if (inner) frame.style.height = `${Math.ceil(inner.getBoundingClientRect().height) + 2}px`;
}

function watch() {
  const inner = frame.contentDocument?.documentElement;
  if (!inner) return;
  new ResizeObserver(fit).observe(inner);
  fit();
}

frame.addEventListener("load", watch);
watch();
