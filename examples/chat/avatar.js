/** A round picture made of a person's initials and a colour of their own. */

import { element, setText } from './dom.js';
import { hueOf, initials } from './format.js';

/** @returns {HTMLElement} to be filled by showAvatar */
export function makeAvatar() {
  return element('span', { class: 'avatar', 'aria-hidden': 'true' });
}

export function showAvatar(avatar, uid, name) {
  avatar.style.setProperty('--hue', String(hueOf(uid)));
  setText(avatar, initials(name));
}
