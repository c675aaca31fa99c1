// The two APIs of the npm package `firebase`, unmodified, in Node.
import * as application from "firebase/app";
import firebase from "firebase/compat/app";
import "firebase/compat/database";
import * as database from "firebase/database";
import { signable } from "../signable.mjs";
import { compat } from "./compat.mjs";
import { modular } from "./modular.mjs";

export const sdks = {
  modular: modular(application, database, signable),
  compat: compat(firebase, (app) => signable(app._delegate)),
};
