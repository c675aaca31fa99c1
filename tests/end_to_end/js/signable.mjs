/** Sign the users of an app in and out as `firebase/auth` would, with the emulator's tokens. */
import { Component } from "@firebase/component";
import { _addComponent } from "firebase/app";

/** Give an app what `firebase/auth` would: tokens, and news of them. Returns a way to change it. */
export function signable(app) {
  const listeners = new Set();
  let token = null;
  const provider = {
    getToken: async () => (token === null ? null : { accessToken: token }),
    getUid: () => null,
    addAuthTokenListener: (listener) => { listeners.add(listener); listener(token); },
    removeAuthTokenListener: (listener) => { listeners.delete(listener); },
  };
  _addComponent(app, new Component("auth-internal", () => provider, "PRIVATE"));
  return (user) => {
    token = tokenOf(user);
    for (const listener of listeners) listener(token);
  };
}

/** Make the unsigned token of the emulator; a text is a token already. */
function tokenOf(user) {
  if (user === null || typeof user === "string") return user;
  const encode = (part) => Buffer.from(JSON.stringify(part)).toString("base64url");
  return `${encode({ alg: "none" })}.${encode(user)}.`;
}
