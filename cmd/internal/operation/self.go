package operation

import "context"

// Self is who calls, and what the caller may do.
type Self struct {
	Name   string  `json:"name" doc:"Name of the user"`
	Rights []Right `json:"rights" doc:"What the user may do"`
}

// Right is a role in some collections.
type Right struct {
	Role        string   `json:"role" enum:"reader,depositor,operator,admin" doc:"reader, depositor, operator or admin"`
	All         bool     `json:"all,omitempty" doc:"In all collections"`
	Collections []string `json:"collections,omitempty" doc:"In these collections"`
}

// None is no parameters.
type None struct{}

func self() []*Operation {
	return []*Operation{
		get("self.show", "/v1/self", "Show who you are, and what you may do", OnSelf, false, func(_ context.Context, c *Call, _ *None) (Self, error) {
			s := Self{Name: c.Caller.Name, Rights: []Right{}}
			for _, r := range c.Caller.Rights {
				s.Rights = append(s.Rights, Right{Role: string(r.Role), All: r.Scope.All, Collections: r.Scope.Collections})
			}
			return s, nil
		}),
	}
}
