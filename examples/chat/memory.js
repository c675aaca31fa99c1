/** What this browser remembers between visits. Without localStorage it remembers until reload. */

const PREFIX = 'treehouse.';

/**
 * @param {() => Storage} findStorage may throw or return nothing, as private windows do
 * @returns {{get: (name: string) => any, set: (name: string, value: unknown) => void}}
 */
export function openMemory(findStorage) {
  const storage = working(findStorage);
  const unstored = new Map();
  return {
    get: (name) => parse(unstored.get(name) ?? storage?.getItem(PREFIX + name) ?? null),
    set: (name, value) => {
      const text = JSON.stringify(value);
      try {
        storage.setItem(PREFIX + name, text);
        unstored.delete(name);
      } catch {
        unstored.set(name, text); // no storage, or it is full
      }
    },
  };
}

function working(findStorage) {
  try {
    const storage = findStorage();
    storage.getItem(PREFIX);
    return storage;
  } catch {
    return null;
  }
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null; // somebody else wrote there
  }
}
