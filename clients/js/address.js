/** Where a database is: from the URL an application gives to the URL a socket dials. */

import { TreeError } from './errors.js';

const SOCKET_SCHEMES = new Map([
  ['http:', 'ws:'],
  ['https:', 'wss:'],
  ['ws:', 'ws:'],
  ['wss:', 'wss:'],
]);

/**
 * Read a database's URL; the namespace is the given one, else `?ns=` of the URL, else the server's.
 *
 * @param {string | URL} url as in "https://db.example.org" or "http://localhost:9000?ns=demo"
 * @param {string | undefined} namespace
 * @returns {{scheme: string, host: string, namespace: string}}
 */
export function parseAddress(url, namespace) {
  const parsed = parseUrl(url);
  const scheme = SOCKET_SCHEMES.get(parsed.protocol);
  if (scheme === undefined) {
    throw invalid(url, `the scheme is ${parsed.protocol} but must be http, https, ws or wss`);
  }
  if (parsed.pathname !== '/') {
    throw invalid(url, 'it names a path; connect to the server and use ref(path)');
  }
  return { scheme, host: parsed.host, namespace: namespace ?? parsed.searchParams.get('ns') ?? '' };
}

/**
 * Return the URL of the realtime endpoint.
 *
 * @param {{scheme: string, host: string, namespace: string}} address
 * @param {string | null} lastSession the session this one takes the place of: the server ends it at
 *   once instead of waiting for its dead connection to time out
 */
export function socketUrl(address, lastSession) {
  const parameters = new URLSearchParams({ v: '5' });
  if (lastSession !== null) parameters.set('ls', lastSession);
  if (address.namespace !== '') parameters.set('ns', address.namespace);
  return `${address.scheme}//${address.host}/.ws?${parameters}`;
}

function parseUrl(url) {
  try {
    return new URL(url);
  } catch {
    throw invalid(url, 'it is no absolute URL, as http://localhost:9000 would be');
  }
}

function invalid(url, problem) {
  return new TreeError('INVALID_ARGUMENT', `cannot connect to ${url}: ${problem}`);
}
