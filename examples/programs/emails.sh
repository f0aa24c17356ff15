# Prints the e-mail addresses of a group as a mailing list: TOKEN=… bash emails.sh chess-club
# It needs curl 7.71 and jq.
set -euo pipefail
url=${SERVICE_URL:-http://127.0.0.1:3000}/graphql/v1
query='query Emails($id: String!, $after: String) { group(group: { id: $id }) {
  members(first: 100, after: $after) { nodes { user { name email } } pageInfo { hasNextPage endCursor } } } }'
answer=$(mktemp)
trap 'rm "$answer"' EXIT
after=null
while [ -n "$after" ]; do
  # The token comes from a file, because others can read arguments. The answer goes to a file, which curl empties before it repeats.
  jq -n --arg query "$query" --arg id "$1" --argjson after "$after" '{$query, variables: {$id, $after}}' |
    curl -sS --retry 10 --retry-all-errors --max-time 30 -o "$answer" -d @- -H 'Content-Type: application/json' \
      -K <(printf 'header = "Authorization: Basic %s"\n' "$TOKEN") "$url"
  jq -r 'if .errors then error("\(.errors[0].extensions.code): \(.errors[0].message)") else .data.group.members end
    | .nodes[].user | select(.email) | "\(.name) <\(.email)>"' "$answer"
  after=$(jq '.data.group.members.pageInfo | if .hasNextPage then .endCursor else empty end' "$answer")
done
