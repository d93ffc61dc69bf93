package intake

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/mint"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
)

// Earlier is what is known from before of what a deposit brings.
type Earlier struct {
	// SameAs is the newest earlier batch of the same payload, by its digest, from the same
	// submitter for the same profile; "" = none is known.
	SameAs domain.BatchID `json:"same_as,omitempty"`
	// Object is the stored object to which the deposit adds a version, "" = it names none;
	// objects that only its manifest names are not looked for.
	Object string `json:"object,omitempty"`
	// ObjectVersion is the version that the deposit becomes, unless others come before it;
	// 0 = there is no Object.
	ObjectVersion int64 `json:"object_version,omitempty"`
}

// limit is how long an accepted deposit is compared with what is there.
const limit = 3 * time.Second

// Servers are what is asked of a deposit.
type Servers interface {
	Profiles() (*profile.Set, error)
	Records(ctx context.Context) (*record.Records, error)
}

// Remember keeps a deposit that was accepted as a batch, for the comparison with later ones,
// and returns what is known from before. It is accepted: what cannot be found out, as without
// PostgreSQL, is no fault of it, and left out.
func Remember(ctx context.Context, servers Servers, id domain.BatchID, sub domain.Submission) (k Earlier) {
	if sub.DigestValue == "" && sub.Primary == "" && len(sub.LocalIDs) == 0 {
		return k // there is nothing to look for
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	profiles, err := servers.Profiles()
	if err != nil {
		return k
	}
	p, err := profiles.Get(sub.ProfileName)
	if err != nil {
		return k
	}
	records, err := servers.Records(ctx)
	if err != nil {
		return k
	}
	if sub.DigestValue != "" {
		k.SameAs, _ = records.KeepDeposit(ctx, id, sub) // without it the deposit is not recognised, and nothing else is lost
	}
	if o, found := object(ctx, records, p, sub); found {
		k.Object, k.ObjectVersion = o.PrimaryIdentifier, o.CurrentVersion+1
	}
	return k
}

// object returns the object that a deposit names, if it is of the collection of its profile.
func object(ctx context.Context, records *record.Records, p profile.Profile, sub domain.Submission) (o record.FoundObject, found bool) {
	primary := ""
	switch id, err := mint.Parse(sub.Primary); {
	case sub.Primary == "" && len(sub.LocalIDs) > 0:
		primary, _ = records.LookupLocalID(ctx, record.Scope{Owner: p.Owner, Collection: p.Collection}, sub.LocalIDs)
	case err == nil:
		primary = id.String()
	}
	if primary == "" {
		return o, false
	}
	o, found, err := records.Object(ctx, primary)
	return o, found && err == nil && o.Collection == p.Collection
}
