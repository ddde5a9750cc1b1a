-- The tables and functions of one PostgreSQL lock store. $SCHEMA, $SCOPE, $DEAD_US, $RESERVED_US and $KEEP_US
-- are put in by postgres-schema.ts. Each function is one atomic step: it locks the row of its lock first, so
-- steps on one lock come one after the other, and those on different locks do not wait for each other.
-- All times are microseconds of the server's own clock.

-- A lock. The row outlives the holder, for the fence: until a day after it, as long as nobody waits.
create table if not exists $SCHEMA.locks (
  name text collate "C" primary key,
  token text, -- null: nobody holds it
  fence bigint not null,
  since_us bigint not null,
  ends_us bigint not null,
  revoked boolean not null,
  queued integer not null, -- rows of the queue under this name
  reserved_for text, -- the process for which a free lock is kept
  reserved_until_us bigint
) with (fillfactor = 70); -- room beside each row: a renewal then touches no index
create index if not exists locks_fence on $SCHEMA.locks (fence);

-- Processes that wait, in the order of their tickets.
create table if not exists $SCHEMA.queue (
  name text collate "C",
  process text collate "C",
  ticket bigint not null,
  seen_us bigint not null,
  primary key (name, process)
) with (fillfactor = 70);
create unique index if not exists queue_ticket on $SCHEMA.queue (name, ticket, process);

create or replace function $SCHEMA.now_us() returns bigint language sql volatile as $$
  select (extract(epoch from clock_timestamp()) * 1000000)::bigint
$$;

-- The row of a lock, made where there is none, and locked until the step ends. Each new row removes two that
-- nobody needs any more, so the table does not grow with the number of names ever used.
create or replace function $SCHEMA.row_of(p_name text) returns $SCHEMA.locks language plpgsql as $$
declare
  l $SCHEMA.locks;
begin
  loop
    select * into l from $SCHEMA.locks where name = p_name for update;
    if found then return l; end if;
    insert into $SCHEMA.locks (name, fence, since_us, ends_us, revoked, queued)
      values (p_name, 0, 0, 0, false, 0) on conflict do nothing;
    delete from $SCHEMA.locks where name in (
      select name from $SCHEMA.locks
        where fence < $SCHEMA.now_us() - $KEEP_US and fence > 0
          and (token is null or ends_us < $SCHEMA.now_us()) and queued = 0
        order by fence limit 2 for update skip locked);
  end loop;
end $$;

-- The first process of the queue that is alive and has not missed its reservation; those before it are taken
-- out. Whoever asks is alive.
create or replace function $SCHEMA.head_of(p_name text, p_asking text, p_now_us bigint) returns text
language plpgsql as $$
declare
  l $SCHEMA.locks;
  head $SCHEMA.queue;
begin
  select * into l from $SCHEMA.locks where name = p_name;
  if l.queued = 0 then return null; end if;
  loop
    select * into head from $SCHEMA.queue where name = p_name order by name, ticket, process limit 1;
    if not found then
      update $SCHEMA.locks set queued = 0 where name = p_name;
      return null;
    end if;
    if head.process = p_asking then return head.process; end if;
    if head.seen_us > p_now_us - $DEAD_US
        and not coalesce(l.reserved_for = head.process and l.reserved_until_us < p_now_us, false) then
      return head.process;
    end if;
    delete from $SCHEMA.queue where name = p_name and process = head.process;
    update $SCHEMA.locks set queued = queued - 1 where name = p_name;
  end loop;
end $$;

-- Keeps a free lock for the head of its queue, unless that is done; then the head is told (but not where it
-- asks itself), and the process behind it to look whether the head came. Returns for how long it is kept.
-- A reservation never ends later than one made now, whatever the clock did.
create or replace function $SCHEMA.reserve(p_name text, p_head text, p_asking text, p_now_us bigint)
returns bigint language plpgsql as $$
declare
  l $SCHEMA.locks;
  standby text;
begin
  select * into l from $SCHEMA.locks where name = p_name;
  if l.reserved_for = p_head and l.reserved_until_us >= p_now_us
      and l.reserved_until_us <= p_now_us + $RESERVED_US then
    return l.reserved_until_us - p_now_us;
  end if;
  update $SCHEMA.locks set reserved_for = p_head, reserved_until_us = p_now_us + $RESERVED_US
    where name = p_name;
  if p_head is distinct from p_asking then perform $SCHEMA.tell(p_head, '+', p_name); end if;
  select process into standby from $SCHEMA.queue where name = p_name
    order by name, ticket, process offset 1 limit 1;
  if standby is not null then perform $SCHEMA.tell(standby, '?', p_name); end if;
  return $RESERVED_US;
end $$;

-- One message to one process: a role, and the name of the lock, which holds no space. It is sent when the step is committed.
create or replace function $SCHEMA.tell(p_process text, p_role text, p_name text) returns void
language sql as $$
  select pg_notify('doclock_' || md5($SCOPE || p_process), p_role || p_name)
$$;

-- Gives a place in the queue up.
create or replace function $SCHEMA.leave_queue(p_name text, p_process text) returns void
language plpgsql as $$
begin
  delete from $SCHEMA.queue where name = p_name and process = p_process;
  if found then update $SCHEMA.locks set queued = queued - 1 where name = p_name; end if;
end $$;

-- Gives the lock to the token. Returns the fence, above all earlier ones of this name.
create or replace function $SCHEMA.grant_to(p_name text, p_token text, p_ttl_us bigint, p_now_us bigint)
returns bigint language sql as $$
  update $SCHEMA.locks set token = p_token, fence = greatest(fence + 1, p_now_us), since_us = p_now_us,
    ends_us = p_now_us + p_ttl_us, revoked = false, reserved_for = null, reserved_until_us = null
    where name = p_name returning fence
$$;

-- Whether the token holds the lock, or nobody does and it is the asking process's to take. Otherwise for how
-- long it is busy at most, and how long its holder has had it (null: nobody has).
create or replace function $SCHEMA.look(p_name text, p_token text, p_process text,
  out mine boolean, out free boolean, out time_us bigint, out remaining_us bigint, out held_us bigint)
language plpgsql as $$
declare
  l $SCHEMA.locks := $SCHEMA.row_of(p_name);
  head text;
begin
  time_us := $SCHEMA.now_us();
  mine := false;
  free := false;
  if l.token is not null and l.ends_us > time_us then
    mine := l.token = p_token and not l.revoked;
    remaining_us := l.ends_us - time_us;
    held_us := greatest(0, time_us - l.since_us);
    return;
  end if;
  head := $SCHEMA.head_of(p_name, p_process, time_us);
  free := head is null or head is not distinct from p_process;
  if not free then remaining_us := $SCHEMA.reserve(p_name, head, p_process, time_us); end if;
end $$;

-- One try. Idempotent on the token. Where the lock is busy a process stands in the queue from then on, with
-- the ticket that it brings (or a new one, behind all others).
create or replace function $SCHEMA.acquire(p_name text, p_token text, p_ttl_us bigint, p_process text,
  p_ticket bigint, out granted boolean, out fence bigint, out time_us bigint, out remaining_us bigint,
  out held_us bigint, out queued integer, out ticket bigint)
language plpgsql as $$
declare
  seen record;
begin
  select * into seen from $SCHEMA.look(p_name, p_token, p_process);
  time_us := seen.time_us;
  granted := seen.mine or seen.free;
  if seen.mine then
    update $SCHEMA.locks l set ends_us = greatest(l.ends_us, seen.time_us + p_ttl_us)
      where name = p_name returning l.fence into fence;
  elsif seen.free then
    if p_process is not null then perform $SCHEMA.leave_queue(p_name, p_process); end if;
    fence := $SCHEMA.grant_to(p_name, p_token, p_ttl_us, seen.time_us);
  else
    remaining_us := seen.remaining_us;
    held_us := seen.held_us;
    if p_process is not null then
      ticket := $SCHEMA.stand(p_name, p_process, p_ticket, seen.time_us);
    end if;
    select l.queued into queued from $SCHEMA.locks l where name = p_name;
  end if;
end $$;

-- A place in the queue, taken or refreshed. Returns its ticket.
create or replace function $SCHEMA.stand(p_name text, p_process text, p_ticket bigint, p_now_us bigint)
returns bigint language plpgsql as $$
declare
  standing bigint;
begin
  update $SCHEMA.queue set seen_us = p_now_us, ticket = coalesce(p_ticket, ticket)
    where name = p_name and process = p_process returning ticket into standing;
  if found then return standing; end if;
  standing := coalesce(p_ticket, greatest(p_now_us,
    (select max(ticket) + 1 from $SCHEMA.queue where name = p_name)));
  insert into $SCHEMA.queue values (p_name, p_process, standing, p_now_us);
  update $SCHEMA.locks set queued = queued + 1 where name = p_name;
  return standing;
end $$;

-- Takes several locks, or none: the names come sorted. Returns the fences, or which name is in the way.
create or replace function $SCHEMA.acquire_all(p_names text[], p_tokens text[], p_ttl_us bigint,
  out fences bigint[], out time_us bigint, out busy_name text, out remaining_us bigint, out held_us bigint,
  out queued integer)
language plpgsql as $$
declare
  seen record;
  granted bigint;
begin
  for i in 1 .. cardinality(p_names) loop
    select * into seen from $SCHEMA.look(p_names[i], p_tokens[i], null);
    if not (seen.mine or seen.free) then
      busy_name := p_names[i];
      remaining_us := seen.remaining_us;
      held_us := seen.held_us;
      select l.queued into queued from $SCHEMA.locks l where name = p_names[i];
      return;
    end if;
  end loop;
  time_us := $SCHEMA.now_us();
  for i in 1 .. cardinality(p_names) loop
    update $SCHEMA.locks l set ends_us = greatest(l.ends_us, acquire_all.time_us + p_ttl_us)
      where name = p_names[i] and token = p_tokens[i] and l.ends_us > acquire_all.time_us
      returning l.fence into granted;
    if not found then
      granted := $SCHEMA.grant_to(p_names[i], p_tokens[i], p_ttl_us, time_us);
    end if;
    fences[i] := granted;
  end loop;
end $$;

-- Renews a batch, in the order in which it comes. A longer lease is never shortened, a lock that is gone is
-- never taken again. Returns per lock `renewed`, `revoked` or `not-owner`. The rows are locked by name:
-- two batches that share locks do not wait for each other for ever.
create or replace function $SCHEMA.renew(p_names text[], p_tokens text[], p_ttls_us bigint[])
returns text[] language plpgsql as $$
declare
  outcomes text[];
begin
  perform 1 from $SCHEMA.locks where name = any(p_names) order by name for update;
  with asked as (select * from unnest(p_names, p_tokens, p_ttls_us) with ordinality a(name, token, ttl_us, at)),
  renewed as (
    update $SCHEMA.locks l set ends_us = greatest(l.ends_us, $SCHEMA.now_us() + asked.ttl_us)
      from asked where l.name = asked.name and l.token = asked.token and not l.revoked
        and l.ends_us > $SCHEMA.now_us()
      returning asked.at)
  select array_agg(
      case when renewed.at is not null then 'renewed'
        when l.token = asked.token and l.revoked and l.ends_us > $SCHEMA.now_us() then 'revoked'
        else 'not-owner' end
      order by asked.at)
    into outcomes
    from asked left join renewed using (at) left join $SCHEMA.locks l on l.name = asked.name;
  return outcomes;
end $$;

-- Releases a lock, revoked or not, if the token holds it, and keeps it for the head of its queue.
create or replace function $SCHEMA.release(p_name text, p_token text) returns boolean
language plpgsql as $$
declare
  waiting integer;
  now_us bigint := $SCHEMA.now_us();
begin
  update $SCHEMA.locks set token = null, ends_us = now_us
    where name = p_name and token = p_token and ends_us > now_us returning queued into waiting;
  if not found then return false; end if;
  if waiting > 0 then perform $SCHEMA.pass_on(p_name); end if;
  return true;
end $$;

-- The lock is free: it is kept for the head of the queue, if there is one.
create or replace function $SCHEMA.pass_on(p_name text) returns void
language plpgsql as $$
declare
  now_us bigint := $SCHEMA.now_us();
  head text := $SCHEMA.head_of(p_name, null, now_us);
begin
  if head is not null then perform $SCHEMA.reserve(p_name, head, null, now_us); end if;
end $$;

-- Takes a process out of the queue, and with it what was reserved for it.
create or replace function $SCHEMA.leave(p_name text, p_process text) returns void
language plpgsql as $$
declare
  l $SCHEMA.locks;
begin
  select * into l from $SCHEMA.locks where name = p_name for update;
  if not found then return; end if;
  perform $SCHEMA.leave_queue(p_name, p_process);
  if l.reserved_for = p_process then
    update $SCHEMA.locks set reserved_for = null, reserved_until_us = null where name = p_name;
  end if;
  if l.token is null or l.ends_us <= $SCHEMA.now_us() then perform $SCHEMA.pass_on(p_name); end if;
end $$;

-- Takes a lock from its holder: it cannot be renewed any more, and is granted to nobody before it is
-- released or has expired. The holder's process gets a message that names the lease by its token.
create or replace function $SCHEMA.revoke(p_name text, p_token text, p_process text) returns boolean
language plpgsql as $$
begin
  update $SCHEMA.locks set revoked = true
    where name = p_name and token = p_token and not revoked and ends_us > $SCHEMA.now_us();
  if not found then return false; end if;
  perform $SCHEMA.tell(p_process, '!', p_name || ' ' || p_token);
  return true;
end $$;

-- Locks that are held: the one of that name, or those whose names come after it. Only a primary answers: what
-- a standby shows may be over.
create or replace function $SCHEMA.held(p_name text, p_limit integer, p_itself boolean)
returns table (name text, token text, fence bigint, revoked boolean, queued integer, remaining_us bigint,
  held_us bigint) language plpgsql as $$
declare
  now_us bigint := $SCHEMA.now_us();
begin
  if pg_is_in_recovery() then
    raise exception 'this server is a standby' using errcode = 'read_only_sql_transaction';
  end if;
  if p_itself then
    return query select l.name, l.token, l.fence, l.revoked, l.queued, l.ends_us - now_us,
        greatest(0, now_us - l.since_us)
      from $SCHEMA.locks l where l.name = p_name and l.token is not null and l.ends_us > now_us;
  else
    return query select l.name, l.token, l.fence, l.revoked, l.queued, l.ends_us - now_us,
        greatest(0, now_us - l.since_us)
      from $SCHEMA.locks l where l.name > p_name and l.token is not null and l.ends_us > now_us
      order by l.name limit p_limit;
  end if;
end $$;
