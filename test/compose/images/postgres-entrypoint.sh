#!/usr/bin/env bash
# Makes the cluster and the database on the first start, as the official image does, then becomes the server.
set -euo pipefail
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  initdb --pgdata "$PGDATA" --username "$POSTGRES_USER" --pwfile <(printf '%s\n' "$POSTGRES_PASSWORD") \
    --auth-local trust --auth-host scram-sha-256 --encoding UTF8 --locale C
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  # Not reachable over TCP before everything is there.
  pg_ctl --pgdata "$PGDATA" --wait --options "-c listen_addresses= -k /tmp" start
  createdb --host /tmp --username "$POSTGRES_USER" "$POSTGRES_DB"
  pg_ctl --pgdata "$PGDATA" --wait --mode fast stop
fi
exec postgres -D "$PGDATA" -c listen_addresses='*' -k /var/run/postgresql
