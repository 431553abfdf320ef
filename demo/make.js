/**
 * Makes an element. Strings are put in as text, never as HTML.
 * @param {string} name
 * @param {object} [properties] of the element; `dataset` and attributes with a hyphen as well
 * @param {...(Node | string)} children
 */
export function make(name, { dataset = {}, ...properties } = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes('-')) element.setAttribute(key, value);
    else element[key] = value;
  }
  Object.assign(element.dataset, dataset);
  element.append(...children);
  return element;
}
