/** Find the WebSocket class: the one given, the platform's, or our own for Node. */

/**
 * @param {(new (url: string) => WebSocket) | undefined} given
 * @returns {Promise<new (url: string) => WebSocket>}
 */
export async function findSocketClass(given) {
  const found = given ?? globalThis.WebSocket;
  if (found !== undefined) return found;
  // Node 20 has no WebSocket. The module needs node:http, so browsers never load it.
  const { NodeWebSocket } = await import('./node_websocket.js');
  return NodeWebSocket;
}
