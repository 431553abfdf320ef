#!/bin/sh
# Makes the secrets of docker-compose.yml in secrets/, and an empty .env for all other settings. Existing files stay.
# The files also serve for Kubernetes (docs/containers.md).
#   sh deploy/secrets.sh [directory, by default that of docker-compose.yml]
set -eu
cd "${1:-$(dirname "$0")/..}"
umask 077

# Only the owner may enter the directory. The files are readable by all accounts, since a container has another account and
# sees its own files only.
mkdir -p secrets
make() {
  [ -e "secrets/$1" ] && return
  printf '%s\n' "$2" >"secrets/$1"
  chmod 444 "secrets/$1"
}
random() { od -An -vtx1 -N32 /dev/urandom | tr -d ' \n'; }

make secret_key "$(random)"
make service_keys "read:$(random),push:$(random),users:$(random)"
make provider_main_client_secret "$(random)"
make postgres_password "$(random)"
make database_url "postgres://latchkey:$(cat secrets/postgres_password)@postgres:5432/latchkey"
make redis_conf "requirepass $(random)"
make redis_url "redis://:$(sed 's/^requirepass //' secrets/redis_conf)@redis:6379"

[ -e .env ] || : >.env
