package operation

import (
	"context"
	"net/http"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/objects"
	"github.com/accession-ingest/accession/cmd/internal/operation/internal/sending"
	"github.com/accession-ingest/accession/cmd/internal/operation/internal/sight"
	"github.com/accession-ingest/accession/domain/access"
)

// ObjectList chooses objects.
type ObjectList struct {
	Page
	Identifier string `query:"identifier" maxLength:"500" doc:"Only the one with this identifier"`
	LocalID    string `query:"local_id" maxLength:"500" doc:"Only those with this local id"`
	Title      string `query:"title" maxLength:"500" doc:"Only those with all of these words in their title"`
	Creator    string `query:"creator" maxLength:"500" doc:"Only those with all of these words in their creator"`
	File       string `query:"file" maxLength:"1000" doc:"Only those with a file of this name, or whose path ends with it"`
	Collection string `query:"collection" maxLength:"200" doc:"Only of this collection"`
	Submitter  string `query:"submitter" maxLength:"256" doc:"Only those of which this user deposited a version"`
	Batch      string `query:"batch" maxLength:"40" doc:"Only those of which this batch stored a version"`
	Profile    string `query:"profile" maxLength:"200" doc:"Only those of which a version was deposited with this profile"`
	Age               // of a version, since it was recorded
}

// ObjectID names an object.
type ObjectID struct {
	ID string `path:"id" maxLength:"500" example:"ark:%2F99999%2Fx1" doc:"Identifier of the object; slashes are written as %2F"`
}

// Object implements stored.
func (o *ObjectID) Object() string { return o.ID }

// ObjectVersion names a version of an object.
type ObjectVersion struct {
	ObjectID
	Version int `path:"n" minimum:"0" maximum:"1000000000" doc:"Version, from 1; 0 = the newest that you may see"`
}

// of returns the version, limited to what the caller may see.
func (o *ObjectVersion) of(c *Call) objects.Of {
	sees := c.Caller.Filter()
	return objects.Of{Object: o.ID, Version: o.Version, Sees: &sees}
}

// ObjectFiles lists the files of a version.
type ObjectFiles struct {
	ObjectVersion
	Page
}

// ObjectFile names a file of a version.
type ObjectFile struct {
	ObjectVersion
	FileName
}

// FileName names a file that is stored, and says which part of it to send.
type FileName struct {
	Name string `path:"name" maxLength:"1000" example:"maps%2Fnorth.tif" doc:"Name of the file within the object; slashes are written as %2F"`
	Kind string `query:"kind" enum:"producer,system" doc:"producer (the depositor sent it) or system (Accession made it); default: producer, if there is one of this name"`
	// These are read where the file is sent.
	Range       string `header:"Range" maxLength:"200" example:"bytes=0-499" doc:"The part of the file to send; one range"`
	IfRange     string `header:"If-Range" maxLength:"200" doc:"ETag of the file that the range is of"`
	IfNoneMatch string `header:"If-None-Match" maxLength:"1000" doc:"ETag of the file that you have"`
}

func objectOperations() []*Operation {
	return []*Operation{
		get("object.ls", "/v1/objects", "Find stored objects", OnSeen, false, func(ctx context.Context, c *Call, in *ObjectList) (app.Page[objects.Object], error) {
			sees := c.Caller.Filter()
			batch, err := c.batch(ctx, in.Batch)
			if err != nil {
				return app.Page[objects.Object]{}, err
			}
			p, err := objects.List(ctx, c.App, objects.Filter{Identifier: in.Identifier, LocalID: in.LocalID, Title: in.Title, Creator: in.Creator, File: in.File,
				Collection: in.Collection, Submitter: in.Submitter, Batch: string(batch), Profile: in.Profile, Since: in.Since, Until: in.OlderThan, Sees: &sees, Limit: in.Limit}, app.Cursor(in.Cursor))
			return orUnknown(ctx, c, sight.Named{Collection: in.Collection, Submitter: in.Submitter, Profile: in.Profile, Batch: in.Batch}, p, err)
		}),
		get("object.show", "/v1/objects/{id}", "Show a stored object and its versions", OnObject, false, func(ctx context.Context, c *Call, in *ObjectID) (objects.View, error) {
			return objects.Show(ctx, c.App, (&ObjectVersion{ObjectID: *in}).of(c))
		}),
		get("object.files", "/v1/objects/{id}/versions/{n}/files", "List the files of a version of an object", OnObject, false, func(ctx context.Context, c *Call, in *ObjectFiles) (app.Page[objects.File], error) {
			return objects.Files(ctx, c.App, in.of(c), in.Limit, app.Cursor(in.Cursor))
		}),
		stream(Operation{Name: "object.get", Method: http.MethodGet, Path: "/v1/objects/{id}/versions/{n}/files/{name}", Summary: "Get a file of a version of an object, or a range of it",
			Need: access.See, On: OnObject, Sends: []string{"application/octet-stream"}}, func(ctx context.Context, c *Call, in *ObjectFile) (send, error) {
			file, err := objects.Open(ctx, c.App, in.of(c), in.Kind, in.Name)
			if err != nil {
				return nil, err
			}
			return sending.File(file)
		}),
		stream(Operation{Name: "object.manifest", Method: http.MethodGet, Path: "/v1/objects/{id}/versions/{n}/manifest", Summary: "Get the storage manifest of a version of an object",
			Need: access.See, On: OnObject, Sends: []string{"application/json"}}, func(ctx context.Context, c *Call, in *ObjectVersion) (send, error) {
			file, err := objects.Manifest(ctx, c.App, in.of(c))
			if err != nil {
				return nil, err
			}
			return sending.File(file)
		}),
	}
}
