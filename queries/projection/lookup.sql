-- What is known of identifiers that users ask about.

-- name: BatchesByID :many
select * from accession.batch where id = any(@ids::text[]);

-- name: BatchesOfSubmissions :many
-- The newest batches of each submission, of those that may be seen.
select b.id, b.submission_id
from unnest(@ids::text[]) as n (id)
cross join lateral (
    select f.id, f.submission_id from accession.batch f
    where f.submission_id = n.id and f.submission_id <> ''
        and (not @limited::boolean or f.collection = any(@collections::text[]) or f.submitter = @own::text)
    order by f.id desc limit @most
) b
order by b.id desc;

-- name: JobsOfObjects :many
-- The newest jobs of each object, of those that may be seen.
select j.id
from unnest(@ids::text[]) as n (id)
cross join lateral (
    select f.id from accession.job f
    where f.primary_identifier = n.id and f.primary_identifier <> ''
        and (not @limited::boolean or f.collection = any(@collections::text[]) or f.submitter = @own::text)
    order by f.id desc limit @most
) j
order by j.id desc;
