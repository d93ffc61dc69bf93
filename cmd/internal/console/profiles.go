package console

import (
	"net/url"

	"github.com/accession-ingest/accession/cmd/internal/app/profiles"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/ask"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/cell"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/question"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/table"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

func toProfile(name string) string { return Path + "profiles/" + url.PathEscape(name) }

var profileColumns = table.Columns[operation.ProfileItem]{Operation: "profile.ls", Title: "Profiles", None: "There are no profiles in the collections that you see: an administrator makes one.", Whole: true, List: []table.Column[operation.ProfileItem]{
	table.Col("name", "Profile", func(p operation.ProfileItem) any { return cell.To(p.Name, toProfile(p.Name)) }),
	table.Col("collection", "Collection", func(p operation.ProfileItem) any { return p.Collection }),
	table.Col("owner", "Owner", func(p operation.ProfileItem) any { return p.Owner }),
	table.Col("priority", "Priority", func(p operation.ProfileItem) any { return p.Priority }),
}}

// profiles is the list of profiles, for who may see what one says.
func (c *Console) profiles() further {
	return listOf(c, "profiles", "What deposits go by, and in which version", profileColumns, acts, field{Name: "collection", Label: "Collection"})
}

// profile shows what a profile says, with its defaults.
func (*Console) profile(v *visit) (page, error) {
	p, err := ask.Get[profiles.Shown](v, "profile.show", nil, v.PathValue("id"))
	if err != nil {
		return page{}, err
	}
	t := thing{Why: cell.Whole(cell.Reason{Message: p.Note})}
	t.Facts = facts("Profile", p.ID, "Collection", p.Profile.Collection, "Version", p.Version, "Said by", map[string]string{profiles.SourceFile: "a file in profiles_dir", profiles.SourceRunTime: "what was set"}[p.Source],
		"File", p.File, "Set by", p.By, "Set", p.When, "Why", p.Why)
	text, err := p.YAML()
	t.Text = string(text)
	t.Links = []doable{{"Deposits by it", Path + "batches?profile=" + url.QueryEscape(p.ID)}}
	if administers(v.Self) {
		t.Actions = []doable{{question.Label("profiles", change), toProfile(p.ID) + "/do/" + change}}
		if p.Source == profiles.SourceRunTime {
			t.Actions = append(t.Actions, doable{question.Label("profiles", remove), toProfile(p.ID) + "/do/" + remove})
		}
		t.Links = append(t.Links, doable{"Who changed it", Path + "audit?on=" + url.QueryEscape("profile/"+p.ID)})
	}
	if err != nil {
		return page{}, err
	}
	return t.page(p.ID, "kind=setting")
}
