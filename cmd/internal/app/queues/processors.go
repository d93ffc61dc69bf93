package queues

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	fairsettings "github.com/accession-ingest/accession/domain/fair/settings"
)

// Processor is a processor of a queue and what says what it asks for.
type Processor struct {
	ID   string `json:"id"` // queue and name, as [domain.ProcessorName] has them
	Name string `json:"processor"`
	domain.Processor
	Source string `json:"source"` // see [Source]
	// Setting is the version of what was set of it, for If-Match; 0 = nothing ever was.
	Setting int64 `json:"setting_version"`
}

// Processors lists the processors of the queues, by queue and name.
func Processors(ctx context.Context, a *app.App, queues []string) (list []Processor, err error) {
	for _, queue := range queues {
		now, err := settings(ctx, a, queue)
		if err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(now.Processors)) {
			p := Processor{ID: domain.ProcessorName(queue, name), Name: name, Processor: now.Processors[name], Source: SourceBuiltIn}
			if _, set := now.Set.Processors[name]; set {
				p.Source = SourceRunTime
			} else if _, configured := now.Configured.Processors[name]; configured {
				p.Source = SourceConfiguration
			}
			if p.Setting, err = Version(ctx, a, domain.SettingProcessor, p.ID); err != nil {
				return nil, err
			}
			list = append(list, p)
		}
	}
	return list, nil
}

// AddProcessor adds a processor to a queue.
func AddProcessor(ctx context.Context, a *app.App, p domain.Processor, name, why string) (c app.Changed, err error) {
	now, err := present(ctx, a, p.Queue, why)
	if err != nil {
		return c, err
	}
	if there, known := now.Processors[name]; known {
		return c, &app.Error{Kind: app.Refused, What: "add processor " + name, Err: fmt.Errorf("%s has a processor %s: %s", p.Queue, name, Criteria(there)),
			Hint: "`accession processor set` changes what it asks for"}
	}
	return processor(ctx, a, p.Queue, name, why, p, func(q *domain.Processor) { *q = p })
}

// SetProcessor changes a processor of a queue, also one of the configuration.
func SetProcessor(ctx context.Context, a *app.App, queue, name, why string, edit func(*domain.Processor)) (c app.Changed, err error) {
	now, err := present(ctx, a, queue, why)
	if err != nil {
		return c, err
	}
	start, known := now.Processors[name]
	if !known {
		return c, noProcessor(queue, name)
	}
	return processor(ctx, a, queue, name, why, start, edit)
}

// processor changes a processor; start is what it is where nothing is set.
func processor(ctx context.Context, a *app.App, queue, name, why string, start domain.Processor, edit func(*domain.Processor)) (app.Changed, error) {
	return change(ctx, a, domain.SettingProcessor, domain.ProcessorName(queue, name), func(v domain.SettingValue) domain.SettingValue {
		p := start
		if v.Processor != nil {
			p = *v.Processor
		}
		edit(&p)
		return domain.SettingValue{Processor: &p}
	}, why, nextGrab)
}

// RemoveProcessor removes a processor that was added, or what was set of one of the
// configuration.
func RemoveProcessor(ctx context.Context, a *app.App, queue, name, why string) (c app.Changed, err error) {
	now, err := present(ctx, a, queue, why)
	if err != nil {
		return c, err
	}
	if _, known := now.Processors[name]; !known {
		return c, noProcessor(queue, name)
	}
	if _, set := now.Set.Processors[name]; !set {
		by := "built in"
		if _, configured := now.Configured.Processors[name]; configured {
			by = "there by configuration"
		}
		return c, &app.Error{Kind: app.Refused, What: "remove processor " + name, Err: fmt.Errorf("nothing was set of processor %s of %s: it is %s", name, queue, by),
			Hint: "`accession processor stop` ends its work; the setting processors of the configuration says which there are"}
	}
	c, err = change(ctx, a, domain.SettingProcessor, domain.ProcessorName(queue, name), func(domain.SettingValue) domain.SettingValue { return domain.SettingValue{} }, why, nextGrab)
	without := fairsettings.New()
	if p, stays := fairsettings.Processors(queue, now.Configured, without)[name]; stays && err == nil {
		c.Effects = append(c.Effects, "the configuration counts again: "+Criteria(p))
	}
	return c, err
}

func noProcessor(queue, name string) error {
	return &app.Error{Kind: app.NotFound, What: "processor " + name, Err: fmt.Errorf("%s has no processor %s", queue, name), Hint: "`accession processor ls` lists them"}
}

// ShowProcessor returns the processors of a name in the queues.
func ShowProcessor(ctx context.Context, a *app.App, queues []string, name string) ([]Processor, error) {
	list, err := Processors(ctx, a, queues)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(p Processor) bool { return p.Name != name })
	if len(list) == 0 {
		return nil, noProcessor(queues[0], name)
	}
	return list, nil
}
