package operation

import (
	"context"
	"errors"
	"net/http"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/profiles"
	"github.com/accession-ingest/accession/cmd/internal/operation/internal/sight"
	"github.com/accession-ingest/accession/domain/access"
)

// ProfileItem is what a depositor has to know of a profile.
type ProfileItem struct {
	ID         string `json:"id" doc:"Its name"`
	Name       string `json:"name" doc:"Name, for deposits"`
	Collection string `json:"collection" doc:"Collection that deposits go to"`
	Owner      string `json:"owner" doc:"Who answers for the collection"`
	Priority   int    `json:"priority" doc:"Priority of deposits that ask for none: lower runs first"`
}

// ProfileName names a profile.
type ProfileName struct {
	Name string `path:"name" maxLength:"64" example:"maps" doc:"Name of the profile"`
}

// Collection implements collected. A profile that does not exist is that of no collection for
// those who may not act everywhere.
func (p *ProfileName) Collection(_ context.Context, c *Call) (string, error) {
	return c.unlessMissing(c.sight().CollectionOf(p.Name))
}

// unlessMissing returns no collection in place of an error of kind NotFound, for those who may
// not act everywhere.
func (c *Call) unlessMissing(name string, err error) (string, error) {
	if known, ok := errors.AsType[*app.Error](err); ok && known.Kind == app.NotFound && !c.Caller.May(access.Act, "") {
		return "", nil
	}
	return name, err
}

// ProfileCheck has a content to be checked.
type ProfileCheck struct {
	Body struct {
		Content string `json:"content" lines:"true" minLength:"1" maxLength:"65536" doc:"The profile, as the YAML file that it would be in profiles_dir"`
	}
}

// ProfileSet has another content of a profile.
type ProfileSet struct {
	ProfileName
	MatchSetting
	Body struct {
		Content string `json:"content" lines:"true" minLength:"1" maxLength:"65536" doc:"The profile, as the YAML file that it would be in profiles_dir"`
		From    string `json:"from,omitempty" maxLength:"64" example:"b1946ac92492" doc:"Version of the content that is replaced, as it is shown: it is refused if another one is there; none = there is no such profile, absent = any"`
		Reason  string `json:"reason" maxLength:"500" doc:"Why; it stays in the history"`
	}
}

// ProfileRm removes what was set of a profile.
type ProfileRm struct {
	ProfileName
	Match
}

// ProfileList chooses profiles.
type ProfileList struct {
	Collection string `query:"collection" maxLength:"200" doc:"Only of this collection"`
}

func profileOperations() []*Operation {
	const path = "/v1/profiles/{name}"
	change := Operation{Method: http.MethodPost, Need: access.Administer, On: OnInstallation, Write: true}
	of := func(verb, summary string) Operation {
		change.Name, change.Path, change.Summary = "profile."+verb, path+"/"+verb, summary
		return change
	}
	return []*Operation{
		get("profile.ls", "/v1/profiles", "List the profiles that you may deposit with, or whose collection you may see", OnSeen, false, func(ctx context.Context, c *Call, in *ProfileList) (app.Page[ProfileItem], error) {
			list, err := c.App.Profiles(ctx)
			seen := []ProfileItem{}
			for _, p := range list {
				if (in.Collection == "" || p.Collection == in.Collection) && c.sight().In(p.Collection) {
					seen = append(seen, ProfileItem{ID: p.Name, Name: p.Name, Collection: p.Collection, Owner: p.Owner, Priority: p.Priority.Default})
				}
			}
			page, err := Whole(seen, err)
			return orUnknown(ctx, c, sight.Named{Collection: in.Collection}, page, err)
		}),
		row(Operation{Name: "profile.show", Method: http.MethodGet, Path: path, Summary: "Show a profile with its defaults, and what says so", Need: access.Act, On: OnCollection},
			func(ctx context.Context, c *Call, in *ProfileName) (profiles.Shown, error) {
				s, err := profiles.Show(ctx, c.App, in.Name)
				if c.version = s.Setting; !c.Caller.May(access.Administer, "") {
					s = s.WithoutSecrets()
				}
				return s, err
			}),
		row(of("set", "Make a profile, or replace what it says, after a check"), func(ctx context.Context, c *Call, in *ProfileSet) (app.Changed, error) {
			return profiles.Set(ctx, c.App, in.Name, in.Body.Content, in.Body.From, in.Body.Reason)
		}),
		row(of("rm", "Remove what was set of a profile: its file counts again"), func(ctx context.Context, c *Call, in *ProfileRm) (app.Changed, error) {
			return profiles.Rm(ctx, c.App, in.Name, in.Why())
		}),
		row(Operation{Name: "profile.check", Method: http.MethodPost, Path: "/v1/profiles/check", Summary: "Check what a profile would say, and show what would be otherwise", Need: access.Administer, On: OnInstallation},
			func(ctx context.Context, c *Call, in *ProfileCheck) (profiles.Sound, error) {
				return profiles.CheckContent(ctx, c.App, in.Body.Content)
			}),
	}
}
