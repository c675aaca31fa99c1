/** A localStorage of the test's own. */
export function fakeStorage() {
  const items = new Map();
  return {
    items,
    getItem: (name) => items.get(name) ?? null,
    setItem: (name, text) => items.set(name, text),
  };
}
