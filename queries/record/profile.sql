-- name: KeepProfile :exec
insert into record.profile (name, version, content, kept_by)
values (@name, @version, @content, @kept_by)
on conflict (name, version) do update set content = excluded.content where profile.content <> excluded.content;

-- name: ProfileContent :one
select content from record.profile where name = @name and version = @version;
