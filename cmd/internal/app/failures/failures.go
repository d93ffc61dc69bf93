// Package failures groups what has failed by why it did, so that a person who must act sees
// twenty timeouts at one server as one thing.
package failures

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// Failure is the failed jobs of one collection and profile that failed for one reason, with
// payloads of one server.
type Failure struct {
	Code       string        `json:"code" doc:"Code of the reason for which they failed"`
	Class      string        `json:"class" doc:"Class of that reason, of the newest of them"`
	WhoActs    domain.Acting `json:"who_acts" doc:"Who must act on it"`
	Message    string        `json:"message" doc:"The reason of the newest of them, one sentence for people"`
	Host       string        `json:"host,omitempty" doc:"Server that their payloads come from; none = they were sent"`
	Collection string        `json:"collection" doc:"Their collection"`
	Profile    string        `json:"profile" doc:"Their profile"`
	Jobs       int64         `json:"jobs" doc:"How many they are"`
	First      time.Time     `json:"first_failed_at" doc:"When the first of them failed"`
	Last       time.Time     `json:"last_failed_at" doc:"When the last of them failed"`
	Example    string        `json:"example" doc:"The newest of them: a job id"`
	// Chosen is more than Jobs where no host tells them from others.
	Chosen int64 `json:"chosen" doc:"How many failed jobs a filter with their code, host, collection and profile chooses: the same number, or more where their payloads were sent"`
}

// Most is how many groups are listed at most.
const Most = 1000

// Ls lists the groups of the failed jobs that a filter chooses, those of most jobs first, and how
// many groups there are.
func Ls(ctx context.Context, a *app.App, f app.JobFilter) (p app.Page[Failure], err error) {
	defer app.Explained(&err, "group failed jobs")
	db, err := a.Open.DB(ctx)
	if err != nil {
		return p, err
	}
	f.Limit = min(f.Limit, Most)
	rows, err := query.FailedJobs(ctx, db, f)
	if err != nil {
		return p, err
	}
	p.Items, p.Total = make([]Failure, len(rows)), new(int64)
	for i, r := range rows {
		p.Items[i] = failureOf(r)
		*p.Total = r.Groups
	}
	return p, nil
}

func failureOf(r query.FailedGroup) Failure {
	f := Failure{Code: r.Code, Class: r.Class, WhoActs: domain.Class(r.Class).WhoActs(), Message: r.Message, Host: r.Host, Collection: r.Collection, Profile: r.ProfileName,
		Jobs: r.Jobs, First: r.FirstFailedAt, Last: r.LastFailedAt, Example: r.Example, Chosen: r.Jobs}
	if f.Host == "" {
		f.Chosen = r.Alike
	}
	return f
}
