/** Building and updating elements. Text is only ever set as text, never as markup. */

/**
 * Make an element.
 *
 * @param {string} name as in "li"
 * @param {Record<string, string>} [attributes]
 * @param {...(Node | string)} children
 */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.append(...children);
  return made;
}

/**
 * Find the element of a page that its scripts rely on.
 *
 * @param {string} selector
 * @returns {HTMLElement}
 */
export function find(selector) {
  const found = document.querySelector(selector);
  if (found === null) throw new Error(`the page has no ${selector}`);
  return found;
}

/** Set a text, touching the page only when it differs. */
export function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

/**
 * Make the children of a list match its items, reusing the elements of items that stay.
 *
 * @template Item
 * @param {Element} list
 * @param {readonly Item[]} items
 * @param {{keyOf: (item: Item) => string, create: (item: Item) => Element,
 *   update: (made: Element, item: Item) => void}} how
 */
export function reconcile(list, items, { keyOf, create, update }) {
  const old = new Map([...list.children].map((child) => [child.dataset.key, child]));
  const kept = new Set(items.map(keyOf));
  for (const [key, child] of old) if (!kept.has(key)) child.remove();
  let cursor = list.firstElementChild;
  for (const item of items) {
    const key = keyOf(item);
    const made = old.get(key) ?? create(item);
    made.dataset.key = key;
    update(made, item);
    if (made === cursor) cursor = cursor.nextElementSibling;
    else list.insertBefore(made, cursor);
  }
}
