package naming

import (
	"cmp"
	"slices"

	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/mint"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/container"
)

// maxLocalIDs is how many local ids a job may have with those of its citation, and maxLocalID
// how many bytes one of these has at most: they are kept with the job in the live state.
const maxLocalIDs, maxLocalID = 1000, 1 << 10

// Cited returns a job as the citation in its container completes it, nil = there is none. The
// deposit says first who made the object, what it is and when it was made; its local ids come
// before those of the citation. The two must not name different objects.
func Cited(j domain.Job, c *container.ERC) (domain.Job, error) {
	if c == nil {
		return j, nil
	}
	m := &j.Metadata
	m.ErcWho, m.ErcWhat, m.ErcWhen = cmp.Or(m.ErcWho, c.Who), cmp.Or(m.ErcWhat, c.What), cmp.Or(m.ErcWhen, c.When)
	ids := slices.Clone(j.Identifiers.LocalID)
	for _, id := range c.LocalIDs {
		if len(id) > maxLocalID {
			return j, citation("a local identifier of %d bytes, and %d are the most: shorten it", len(id), maxLocalID)
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) > maxLocalIDs && len(ids) > len(j.Identifiers.LocalID) {
		return j, citation("more local identifiers than there may be, %d with those of the deposit: remove some", maxLocalIDs)
	}
	j.Identifiers.LocalID = ids
	if c.Primary == "" {
		return j, nil
	}
	named, err := mint.Parse(c.Primary)
	if err != nil {
		return j, citation("an identifier that is none: %s: %v", c.Primary, err)
	}
	if j.Identifiers.Primary == "" {
		j.Identifiers.Primary = named.String()
		return j, nil
	}
	if given, err := mint.Parse(j.Identifiers.Primary); err == nil && given != named {
		return j, reason.Content(reason.CodeIdentifierMismatch, "%s in the container names %s, the deposit names %s: correct the one that is wrong",
			container.Citation, named, given)
	}
	return j, nil
}

func citation(format string, args ...any) error {
	return reason.Content(container.CodeERC, "%s in the container has "+format, append([]any{container.Citation}, args...)...)
}
