-- name: KeepFormDeposit :exec
insert into record.form_deposit (submitter, name, taken_as) values (@submitter, @name, @taken_as);

-- name: FormDeposits :many
-- The newest ones of a name first.
select taken_as from record.form_deposit where submitter = @submitter and name = @name order by kept_at desc limit 20;
