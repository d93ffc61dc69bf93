-- name: BeginEffect :one
-- With the time by this clock, which all processes share.
insert into record.effect (key, kind, state) values (@key, @kind, 'intent')
on conflict (key) do update set begun = effect.begun + case when effect.state = 'done' then 0 else 1 end
returning *, clock_timestamp()::timestamptz as now;

-- name: FinishEffect :one
-- The first result stays.
update record.effect set
    state = 'done', result = coalesce(result, @result::jsonb), finished_at = coalesce(finished_at, clock_timestamp())
where key = @key
returning *;

-- name: AcceptEffect :one
-- What is done stays as it is.
update record.effect set accepted = case when state = 'done' then accepted else sqlc.narg('accepted')::jsonb end
where key = @key
returning *;

-- name: EffectByKey :one
select * from record.effect where key = @key;
