package operation

import (
	"context"
	"net/http"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app/directories"
	"github.com/accession-ingest/accession/domain/access"
)

// DirectoryLook names an open directory, and says which of its files count.
type DirectoryLook struct {
	URL       string    `query:"url" required:"true" minLength:"1" maxLength:"2048" example:"https://data.example.org/night/" doc:"The directory, on a web server that lists it"`
	Profile   string    `query:"profile" required:"true" minLength:"1" maxLength:"64" example:"maps" doc:"Profile under which it is asked for"`
	Pattern   string    `query:"pattern" maxLength:"256" example:"*.fits" doc:"Only files with such names, or with a slash in it such paths below the directory"`
	Recursive bool      `query:"recursive" doc:"Also the directories below"`
	NewerThan time.Time `query:"newer_than" doc:"Only files modified from then on; those whose listing names no date count"`
	MaxSize   int64     `query:"max_size" minimum:"0" doc:"Only files of at most this many bytes; those whose listing names no size count"`
	Limit     int       `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"How many of the files to name"`
}

// Collection implements collected.
func (d *DirectoryLook) Collection(ctx context.Context, c *Call) (string, error) {
	return (&ProfileName{Name: d.Profile}).Collection(ctx, c)
}

func directoryOperations() []*Operation {
	return []*Operation{
		row(Operation{Name: "discover.look", Method: http.MethodGet, Path: "/v1/directories/look", Summary: "Look at what an open directory lists, without fetching anything of it", Need: access.Act, On: OnCollection},
			func(ctx context.Context, c *Call, in *DirectoryLook) (directories.Seen, error) {
				asked := directories.Asked{URL: in.URL, Profile: in.Profile, Limit: in.Limit}
				asked.Rules.Pattern, asked.Rules.Recursive, asked.Rules.NewerThan, asked.Rules.MaxSize = in.Pattern, in.Recursive, in.NewerThan, in.MaxSize
				return directories.Look(ctx, c.App, asked)
			}),
	}
}
