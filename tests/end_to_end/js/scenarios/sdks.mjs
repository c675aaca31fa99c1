// The two APIs of the npm package `firebase`, unmodified, in Node.
import { Component } from "@firebase/component";
import * as application from "firebase/app";
import firebase from "firebase/compat/app";
import "firebase/compat/database";
import * as database from "firebase/database";
import { compat } from "./compat.mjs";
import { modular } from "./modular.mjs";

export const sdks = {
  modular: modular(application, database, signable),
  compat: compat(firebase, (app) => signable(app._delegate)),
};

/** Give an app what `firebase/auth` would: tokens, and news of them. Returns a way to change it. */
function signable(app) {
  const listeners = new Set();
  let token = null;
  const provider = {
    getToken: async () => (token === null ? null : { accessToken: token }),
    getUid: () => null,
    addAuthTokenListener: (listener) => { listeners.add(listener); listener(token); },
    removeAuthTokenListener: (listener) => { listeners.delete(listener); },
  };
  application._addComponent(app, new Component("auth-internal", () => provider, "PRIVATE"));
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
