-- name: ResolveRetries :exec
-- Fills in what became of attempts that failed in earlier transactions; null keeps.
update accession.retry t set
    resumed_at = coalesce(r.resumed_at, t.resumed_at),
    resumed_by = coalesce(r.resumed_by, t.resumed_by),
    resumed_to = coalesce(r.resumed_to, t.resumed_to),
    outcome = coalesce(r.outcome, t.outcome)
from json_populate_recordset(null::accession.retry, @rows::json) r
where t.job_id = r.job_id and t.raw_file_hash = r.raw_file_hash and t.number = r.number;
