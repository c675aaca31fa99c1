// Values in scenarios: short forms for long ones, and what fits what was expected.

/** Write out the short forms: {"$repeat": ["ab", 3]} is "ababab", {"$items": 2} two children. */
export function expanded(value) {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(expanded);
  if ("$repeat" in value) return value.$repeat[0].repeat(value.$repeat[1]);
  if ("$items" in value) {
    const names = Array.from({ length: value.$items }, (_, index) => `item ${index}`);
    return Object.fromEntries(names.map((name) => [name, { name, text: name.repeat(20) }]));
  }
  if ("$nested" in value) return nested(...value.$nested);
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, expanded(each)]));
}

/** {"$nested": ["a", 3, 1]} is {"a": {"a": {"a": 1}}}. */
function nested(key, depth, value) {
  return depth === 0 ? value : { [key]: nested(key, depth - 1, value) };
}

/** Bring what an SDK gave into the form of JSON: a hole is null. */
export function plain(value) {
  return value === undefined ? null : JSON.parse(JSON.stringify(value));
}

/** Throw unless the actual value is the expected one. */
export function expect(actual, expected) {
  if (!fits(plain(actual), expected)) {
    throw new Error(`found ${shown(plain(actual))}, expected ${shown(expected)}`);
  }
}

function fits(actual, expected) {
  if (expected === null || typeof expected !== "object") return actual === expected;
  if ("$nowWithin" in expected) return Math.abs(actual - Date.now()) <= expected.$nowWithin;
  if ("$within" in expected) return expected.$within[0] <= actual && actual <= expected.$within[1];
  if ("$oneOf" in expected) return expected.$oneOf.some((each) => fits(actual, each));
  if ("$contains" in expected) return String(actual).includes(expected.$contains);
  if (actual === null || typeof actual !== "object") return false;
  if (Array.isArray(actual) !== Array.isArray(expected)) return false;
  const keys = Object.keys(expected);
  return (
    keys.length === Object.keys(actual).length &&
    keys.every((key) => Object.hasOwn(actual, key) && fits(actual[key], expected[key]))
  );
}

function shown(value) {
  const text = JSON.stringify(value);
  return text.length > 1000 ? `${text.slice(0, 1000)} and ${text.length - 1000} more` : text;
}
