-- name: DatasetReconciliation :many
-- The files of a dataset by path, one page after another.
select * from report.dataset_reconciliation
where dataset = @dataset and (path, raw_file_hash) > (@after_path::text, @after_hash::text)
order by path, raw_file_hash
limit @max_rows;

-- name: DatasetResults :many
-- How many files of a dataset have each result.
select result, count(*) as files, sum(size)::bigint as bytes
from report.dataset_reconciliation
where dataset = @dataset
group by result
order by result;
