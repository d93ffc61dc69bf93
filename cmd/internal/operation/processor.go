package operation

import (
	"context"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/queues"
	"github.com/accession-ingest/accession/domain"
)

// ProcessorName names a processor of a deposit queue.
type ProcessorName struct {
	Name      string `path:"name" maxLength:"100" doc:"Name of the deposit queue"`
	Processor string `path:"processor" maxLength:"200" example:"films" doc:"Name of the processor"`
}

// Criteria are what a processor asks for. What is absent stays as it is, or asks for nothing
// where the processor is new.
type Criteria struct {
	Users        *[]string `json:"users,omitempty" maxItems:"1000" doc:"Serve only these users; none = all"`
	ExcludeUsers *bool     `json:"exclude_users,omitempty" doc:"Serve all users but these"`
	Preferred    *[]string `json:"preferred,omitempty" maxItems:"1000" doc:"Serve these users before all others"`
	MaxSize      *int64    `json:"max_size,omitempty" minimum:"0" doc:"Size in bytes of the largest deposit that it serves, 0 = any"`
	Workers      *int      `json:"workers,omitempty" minimum:"0" doc:"Workers in each process, 0 = as many as its configuration says"`
	Stopped      *bool     `json:"stopped,omitempty" doc:"Grab nothing until it is started"`
}

// ProcessorSet adds or changes a processor.
type ProcessorSet struct {
	ProcessorName
	MatchSetting
	Body struct {
		Criteria
		Reason string `json:"reason" maxLength:"500" doc:"Why; it stays in the history"`
	}
}

// ProcessorChange is a command about a processor.
type ProcessorChange struct {
	ProcessorName
	Match
}

// edit sets what is given.
func (k Criteria) edit(p *domain.Processor) {
	give(&p.Users, k.Users)
	give(&p.ExcludeUsers, k.ExcludeUsers)
	give(&p.Preferred, k.Preferred)
	give(&p.MaxSize, k.MaxSize)
	give(&p.Workers, k.Workers)
	give(&p.Stopped, k.Stopped)
}

func give[T any](into, value *T) {
	if value != nil {
		*into = *value
	}
}

func processors() []*Operation {
	const path = "/v1/deposit-queues/{name}/processors/{processor}"
	stop := func(verb, summary string, stopped bool) *Operation {
		return act("processor."+verb, path+"/"+verb, summary, func(ctx context.Context, c *Call, in *ProcessorChange) (app.Changed, error) {
			return queues.SetProcessor(ctx, c.App, in.Name, in.Processor, in.Why(), func(p *domain.Processor) { p.Stopped = stopped })
		})
	}
	return []*Operation{
		get("processor.ls", "/v1/processors", "List the processors of the deposit queues", OnInstallation, false, func(ctx context.Context, c *Call, _ *None) (app.Page[queues.Processor], error) {
			return Whole(queues.Processors(ctx, c.App, domain.DepositQueues))
		}),
		get("processor.show", path, "Show what a processor asks for", OnInstallation, false, func(ctx context.Context, c *Call, in *ProcessorName) (p queues.Processor, err error) {
			list, err := queues.ShowProcessor(ctx, c.App, []string{in.Name}, in.Processor)
			if err == nil {
				p, c.version = list[0], list[0].Setting
			}
			return p, err
		}),
		act("processor.add", path+"/add", "Add a processor to a deposit queue", func(ctx context.Context, c *Call, in *ProcessorSet) (app.Changed, error) {
			p := domain.Processor{Queue: in.Name}
			in.Body.edit(&p)
			return queues.AddProcessor(ctx, c.App, p, in.Processor, in.Body.Reason)
		}),
		act("processor.set", path+"/set", "Change what a processor asks for", func(ctx context.Context, c *Call, in *ProcessorSet) (app.Changed, error) {
			return queues.SetProcessor(ctx, c.App, in.Name, in.Processor, in.Body.Reason, in.Body.edit)
		}),
		stop("start", "Start a processor that was stopped", false),
		stop("stop", "Let a processor grab nothing more", true),
		act("processor.rm", path+"/rm", "Remove a processor, or what was set of one of the configuration", func(ctx context.Context, c *Call, in *ProcessorChange) (app.Changed, error) {
			return queues.RemoveProcessor(ctx, c.App, in.Name, in.Processor, in.Why())
		}),
	}
}
