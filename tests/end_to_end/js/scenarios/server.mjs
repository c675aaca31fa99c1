// A treedb server as its administrator sees it: where its namespaces are, their rules, their end.
const OPEN = { ".read": true, ".write": true };

/** Ask as the administrator; gives the text of a refusal, "" where there is none. */
async function asOwner(method, url, body) {
  const answer = await fetch(url, { method, headers: { Authorization: "Bearer owner" }, body });
  return answer.ok ? "" : answer.text();
}

/** Speak of the namespaces of a server whose names begin with `prefix`. */
export function server(url, prefix, administer = asOwner) {
  const ask = async (method, path, body) => {
    const refusal = await administer(method, `${url}${path}?ns=${prefix}`, body);
    if (refusal) throw new Error(refusal);
  };
  const putRules = (rules) => ask("PUT", "/.settings/rules.json", JSON.stringify({ rules }));
  return {
    urlOf: (namespace, host) => {
      const { port, hostname } = new URL(url);
      const name = namespace ? `${prefix}-${namespace}` : prefix;
      return `http://${host ?? hostname}:${port}?ns=${name}`;
    },
    putRules,
    clear: async () => {
      await putRules(OPEN);
      await ask("DELETE", "/.json");
    },
  };
}
