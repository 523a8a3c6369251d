// The editor of a query: Ctrl+Enter runs it, as its button does.

const box = document.getElementById("q");

box.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    box.form.requestSubmit();
  }
});
