package operation

import (
	"context"
	"net/http"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/directories"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/domain/setting"
)

// DatasetName names a dataset.
type DatasetName struct {
	Name string `path:"name" maxLength:"64" example:"nights" doc:"Name of the dataset"`
}

// Collection implements collected.
func (d *DatasetName) Collection(ctx context.Context, c *Call) (string, error) {
	return c.unlessMissing(directories.CollectionOf(ctx, c.App, d.Name))
}

// DiscoveryName names a discovery.
type DiscoveryName struct {
	Name string `path:"name" maxLength:"64" example:"nights" doc:"Name of the discovery"`
}

// Collection implements collected.
func (d *DiscoveryName) Collection(ctx context.Context, c *Call) (string, error) {
	return c.unlessMissing(directories.CollectionOfDiscovery(ctx, c.App, d.Name))
}

// DatasetAdd makes a dataset.
type DatasetAdd struct {
	Setting
	Name string `path:"name" maxLength:"64" example:"nights" doc:"Name of the dataset"`
	Body struct {
		Profile      string `json:"profile" minLength:"1" maxLength:"64" example:"maps" doc:"Profile whose collection gets the files, and whose limits hold for them"`
		GroupPattern string `json:"group_pattern,omitempty" maxLength:"256" example:"^([0-9]{8})_" doc:"Regular expression; what its first parentheses match in the path of a file is its group"`
		ByVersion    bool   `json:"by_version,omitempty" doc:"A file whose size or time changes at its source is a new one"`
		Reason       string `json:"reason" maxLength:"500" doc:"Why; it stays in the history"`
		// Rules are those of its files.
		Rules *setting.Rules `json:"rules,omitempty" doc:"Which files are processed and what they wait for; absent = all, at once"`
	}
}

// Collection implements collected.
func (d *DatasetAdd) Collection(ctx context.Context, c *Call) (string, error) {
	return (&ProfileName{Name: d.Body.Profile}).Collection(ctx, c)
}

// DatasetSet changes a dataset. What is absent stays.
type DatasetSet struct {
	DatasetName
	MatchSetting
	Body struct {
		Profile      *string `json:"profile,omitempty" minLength:"1" maxLength:"64" doc:"Another profile of the same collection"`
		GroupPattern *string `json:"group_pattern,omitempty" maxLength:"256" doc:"Regular expression of groups; empty = none"`
		Reason       string  `json:"reason" maxLength:"500" doc:"Why; it stays in the history"`
		// Rules are those of its files.
		Rules *setting.Rules `json:"rules,omitempty" doc:"Which files are processed and what they wait for; absent = as before"`
	}
}

// DiscoveryAdd has a directory polled.
type DiscoveryAdd struct {
	Setting
	Name string `path:"name" maxLength:"64" example:"nights" doc:"Name of the discovery"`
	Body struct {
		URL       string    `json:"url" minLength:"1" maxLength:"2048" example:"https://data.example.org/night/" doc:"The directory, on a web server that lists it"`
		Dataset   string    `json:"dataset" minLength:"1" maxLength:"64" example:"nights" doc:"Dataset of its files"`
		Group     string    `json:"group,omitempty" maxLength:"128" doc:"Group of all its files; absent = as the dataset says"`
		Every     int64     `json:"every_seconds,omitempty" minimum:"1" maximum:"604800" default:"300" doc:"Seconds from one poll to the next"`
		Pattern   string    `json:"pattern,omitempty" maxLength:"256" example:"*.fits" doc:"Only files with such names, or with a slash in it such paths below the directory"`
		Recursive bool      `json:"recursive,omitempty" doc:"Also the directories below"`
		NewerThan time.Time `json:"newer_than,omitzero" doc:"Only files modified from then on; those whose listing names no date count"`
		MaxSize   int64     `json:"max_size,omitempty" minimum:"0" doc:"Only files of at most this many bytes; those whose listing names no size count"`
		Reason    string    `json:"reason" maxLength:"500" doc:"Why; it stays in the history"`
		GroupBy   string    `json:"group_by,omitempty" maxLength:"256" example:"^([0-9]{8})_" doc:"Regular expression; what its first parentheses match in the path of a file is its group; absent = as the dataset says"`
		// Deposit is of its groups.
		Deposit *setting.GroupDeposit `json:"deposit,omitempty" doc:"Makes one deposit of each complete group; absent = none"`
	}
}

// Collection implements collected.
func (d *DiscoveryAdd) Collection(ctx context.Context, c *Call) (string, error) {
	return (&DatasetName{Name: d.Body.Dataset}).Collection(ctx, c)
}

// DiscoveryChange is a command about a discovery.
type DiscoveryChange struct {
	DiscoveryName
	Match
}

// DiscoveryLs chooses discoveries.
type DiscoveryLs struct {
	Dataset string `query:"dataset" maxLength:"64" doc:"Only those of this dataset"`
	State   string `query:"state" enum:"polled,paused" doc:"Only in this state"`
	Host    string `query:"host" maxLength:"300" doc:"Only those of this server, host and port"`
	InCollection
}

func datasetOperations() []*Operation {
	const datasets, discoveries = "/v1/datasets", "/v1/discoveries"
	read := func(name, path, summary string) Operation {
		return Operation{Name: name, Method: http.MethodGet, Path: path, Summary: summary, Need: access.See, On: OnCollection}
	}
	write := func(name, path, summary string) Operation {
		return Operation{Name: name, Method: http.MethodPost, Path: path, Summary: summary, Need: access.Act, On: OnCollection, Write: true}
	}
	poll := func(verb, summary string, do func(ctx context.Context, a *app.App, name, why string) (app.Changed, error)) *Operation {
		return row(write("discover."+verb, discoveries+"/{name}/"+verb, summary), func(ctx context.Context, c *Call, in *DiscoveryChange) (app.Changed, error) {
			return do(ctx, c.App, in.Name, in.Why())
		})
	}
	return []*Operation{
		get("dataset.ls", datasets, "List the datasets of the collections that you may see", OnSeen, false, func(ctx context.Context, c *Call, in *InCollection) (app.Page[directories.Dataset], error) {
			p, err := Whole(c.datasets(ctx, *in))
			return orUnknown(ctx, c, in.named(""), p, err)
		}),
		row(read("dataset.show", datasets+"/{name}", "Show a dataset"), func(ctx context.Context, c *Call, in *DatasetName) (directories.Dataset, error) {
			d, err := directories.ShowDataset(ctx, c.App, in.Name)
			c.version = d.Version
			return d, err
		}),
		row(write("dataset.add", datasets+"/{name}/add", "Make a dataset, to which files of open directories belong"), func(ctx context.Context, c *Call, in *DatasetAdd) (app.Changed, error) {
			e := directories.DatasetEdit{Profile: &in.Body.Profile, GroupPattern: &in.Body.GroupPattern, ByVersion: in.Body.ByVersion, Rules: in.Body.Rules}
			return directories.AddDataset(ctx, c.App, in.Name, e, in.Body.Reason)
		}),
		row(write("dataset.set", datasets+"/{name}/set", "Change a dataset"), func(ctx context.Context, c *Call, in *DatasetSet) (app.Changed, error) {
			return directories.SetDataset(ctx, c.App, in.Name, directories.DatasetEdit{Profile: in.Body.Profile, GroupPattern: in.Body.GroupPattern, Rules: in.Body.Rules}, in.Body.Reason)
		}),
		get("discover.ls", discoveries, "List the open directories that are polled for collections that you may see", OnSeen, false, func(ctx context.Context, c *Call, in *DiscoveryLs) (app.Page[directories.Discovery], error) {
			names, err := c.datasetsOf(ctx, in.InCollection)
			if err != nil {
				return app.Page[directories.Discovery]{}, err
			}
			p, err := Whole(directories.Discoveries(ctx, c.App, directories.Filter{Dataset: in.Dataset, Datasets: names, State: in.State, Host: in.Host}))
			return orUnknown(ctx, c, in.named(in.Dataset), p, err)
		}),
		row(read("discover.show", discoveries+"/{name}", "Show an open directory that is polled"), func(ctx context.Context, c *Call, in *DiscoveryName) (directories.Discovery, error) {
			d, err := directories.ShowDiscovery(ctx, c.App, in.Name)
			c.version = d.Version
			return d, err
		}),
		row(write("discover.add", discoveries+"/{name}/add", "Have an open directory polled for files of a dataset"), func(ctx context.Context, c *Call, in *DiscoveryAdd) (app.Changed, error) {
			b := in.Body
			return directories.AddDiscovery(ctx, c.App, in.Name, domain.Discovery{URL: b.URL, Dataset: b.Dataset, Group: b.Group, EverySeconds: b.Every, Pattern: b.Pattern,
				Recursive: b.Recursive, NewerThan: domain.At(b.NewerThan), MaxSize: b.MaxSize, GroupBy: b.GroupBy, Deposit: b.Deposit}, b.Reason)
		}),
		poll("run", "Poll a directory now", directories.RunDiscovery),
		poll("pause", "Do not poll a directory until it is resumed", directories.PauseDiscovery),
		poll("resume", "Poll a directory again", directories.ResumeDiscovery),
		poll("rm", "Do not poll a directory any more", directories.RmDiscovery),
	}
}
