/** The chat's parts put together: who is here, the database, the page. */

import { connect } from '/.client/index.js';
import { App } from './app.js';
import { devToken } from './dev_token.js';
import { find } from './dom.js';
import { findIdentity, randomUid } from './identity.js';
import { openMemory } from './memory.js';
import { Model } from './model.js';
import { Outbox } from './outbox.js';
import { openUnread } from './unread.js';

const parameters = new URLSearchParams(location.search);
const memory = openMemory(() => localStorage);
const me = findIdentity(memory, parameters.get('name'), randomUid);
const database = connect(location.origin, {
  namespace: parameters.get('ns') ?? undefined,
  token: devToken(me),
  onAuthError: (error) => app.signInRefused(error),
});
const model = new Model(database);
const outbox = new Outbox(model, () => app.changed());
const app = new App({ me, memory, model, outbox, unread: openUnread(memory, me.uid) });

database.onConnection((state) => app.connection.take(state));
app.start();

for (const button of document.querySelectorAll('[data-action="first-room"]')) {
  button.addEventListener('click', () => app.createRoom('General'));
}
for (const button of document.querySelectorAll('#new-room, [data-action="new-room"]')) {
  button.addEventListener('click', () => app.roomDialog.ask());
}
find('#me').addEventListener('click', () => app.nameDialog.ask(me.name));
find('#back').addEventListener('click', () => app.showList());
