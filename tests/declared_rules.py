"""Rules that declare mirrors of each kind, and counts at a mirror's other side and beside them."""

from treedb.rules.loader import parse_rules

RULES = parse_rules("""{"rules": {
  "users": {"$u": {
    "groups": {"$g": {".mirror": "/groups/$g/members/$u"}},
    "follows": {"$v": {".mirror": {"to": "/followers/$v/$u", "value": "true"}}}}},
  "groups": {"$g": {"members": {".count": "/groups/$g/count"}}},
  "lists": {"$a": {"$b": {".count": "/sizes/$b/$a"}}}
}}""")
