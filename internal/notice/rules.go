package notice

import (
	"context"
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// Scopes of a rule.
const (
	ScopeUser         = "user"         // tasks that the caller created
	ScopeOrganization = "organization" // tasks of all users
)

// Rule notifies one receiver.
type Rule struct {
	ID        string     `json:"id" doc:"UUID of the rule."`
	Scope     string     `json:"scope" enum:"user,organization" doc:"Whose tasks: user, those that the caller created; organization, those of all users. More values may be added."`
	ProjectID string     `json:"project_id" doc:"Project whose tasks the rule concerns. Empty: all projects."`
	Channel   string     `json:"channel" enum:"webhook,slack,ntfy,email" doc:"How the receiver is notified. More values may be added."`
	Receiver  string     `json:"receiver" doc:"Address of the receiver without its secret parts."`
	Events    []string   `json:"events" nullable:"false" doc:"Events of which the receiver is notified: started, needs_you, done, failed, budget_near, limit_reached, alert. More values may be added."`
	Enabled   bool       `json:"enabled" doc:"False: the rule makes no notices, and sends none."`
	Pending   int        `json:"pending" doc:"Number of notices that the receiver has not accepted yet."`
	Failures  int        `json:"failures" doc:"Failed requests since the receiver last accepted a notice. 0: the receiver works, or was not tried."`
	Error     string     `json:"error" doc:"Error of the newest request. Empty: none failed."`
	RetryAt   *time.Time `json:"retry_at" doc:"When the receiver is tried again. Null: it did not fail."`
	CreatedAt time.Time  `json:"created_at" doc:"When the rule was created."`

	OrganizationID string `json:"-"`
	UserID         string `json:"-"` // empty: the rule concerns tasks of all users
	Sealed         string `json:"-"`
}

// RuleQuery selects the rules of a user and of the organization.
type RuleQuery struct {
	OrganizationID, UserID string
	ID                     string // empty: all
}

// NewRule is a rule to create.
type NewRule struct {
	Rule

	Address Address
}

// RuleChange changes the fields that are not nil.
type RuleChange struct {
	ID               string
	Events           []string // nil: unchanged
	Enabled          *bool
	Receiver, Sealed *string
}

// Edit is a change of a rule that a user wants. Nil: unchanged.
type Edit struct {
	Events  *[]string
	Enabled *bool
	Address *string
	Secret  *string
}

// Test is the result of a test notice.
type Test struct {
	State string `json:"state" enum:"delivered,failed" doc:"delivered: accepted by the receiver. failed: see error."`
	Error string `json:"error" doc:"Why the receiver did not accept the notice. Empty: it did."`
}

// Create stores a rule.
func (s *Service) Create(ctx context.Context, n NewRule) (Rule, error) {
	events := n.Events
	if len(events) == 0 {
		events = defaultEvents()
	}
	r := n.Rule
	var err error
	if r.Events, err = checkEvents(events); err != nil {
		return Rule{}, err
	}
	if err := n.Address.check(r.Channel); err != nil {
		return Rule{}, err
	}
	if r.Channel == ChannelEmail && s.cfg.Mail.URL == "" {
		return Rule{}, task.Invalid("channel", "Invalid channel email: omoi has no mail server. Next: ask the operator to set notice.smtp_url")
	}
	r.ID, r.Receiver = task.NewID(), n.Address.shown()
	return s.deps.Store.InsertNoticeRule(ctx, r, s.seal(n.Address, r.OrganizationID, r.ID))
}

// List returns the rules of a user and those of the organization, newest first.
func (s *Service) List(ctx context.Context, q RuleQuery) ([]Rule, error) {
	return s.deps.Store.NoticeRules(ctx, q)
}

// Get returns one rule. [task.CodeNotFound] if the user has none with the ID.
func (s *Service) Get(ctx context.Context, q RuleQuery) (Rule, error) {
	rules, err := s.deps.Store.NoticeRules(ctx, q)
	if err == nil && len(rules) != 1 {
		err = task.Errorf(task.CodeNotFound, "There is no notice rule %s.", q.ID)
	}
	if err != nil {
		return Rule{}, err
	}
	return rules[0], nil
}

// Update changes a rule, and tries its receiver again at once.
func (s *Service) Update(ctx context.Context, r Rule, e Edit) (Rule, error) {
	c := RuleChange{ID: r.ID, Enabled: e.Enabled}
	if e.Events != nil {
		events, err := checkEvents(*e.Events)
		if err == nil && len(events) == 0 {
			err = task.Invalid("events", "Invalid events: expected at least one.")
		}
		if err != nil {
			return r, err
		}
		c.Events = events
	}
	if e.Address != nil || e.Secret != nil {
		if err := s.readdress(r, e, &c); err != nil {
			return r, err
		}
	}
	if err := s.deps.Store.UpdateNoticeRule(ctx, c); err != nil {
		return r, err
	}
	return s.Get(ctx, RuleQuery{OrganizationID: r.OrganizationID, UserID: r.UserID, ID: r.ID})
}

// readdress changes address, secret or both. A new address needs its secret again, so that no receiver gets the secret of another.
func (s *Service) readdress(r Rule, e Edit, c *RuleChange) error {
	to := Address{URL: task.Deref(e.Address), Secret: task.Deref(e.Secret)}
	if e.Address == nil {
		was, err := s.open(r.Sealed, r.OrganizationID, r.ID)
		if err != nil {
			return task.Errorf(task.CodeConflict, "The address of rule %s cannot be decrypted. Next: set address and secret", r.ID).WithCause(err)
		}
		to.URL = was.URL
	}
	if err := to.check(r.Channel); err != nil {
		return err
	}
	c.Receiver, c.Sealed = new(to.shown()), new(s.seal(to, r.OrganizationID, r.ID))
	return nil
}

// Delete deletes a rule with its notices.
func (s *Service) Delete(ctx context.Context, r Rule) error {
	return s.deps.Store.DeleteNoticeRule(ctx, r.ID)
}

// Test sends a test notice at once and returns the receiver's answer.
func (s *Service) Test(ctx context.Context, r Rule) (Test, error) {
	to, err := s.open(r.Sealed, r.OrganizationID, r.ID)
	if err == nil {
		o := outgoing{id: task.NewID(), event: tested, at: time.Now(), to: to, client: s.cfg.Client, mail: s.cfg.Mail}
		err = o.send(ctx, r.Channel, Message{
			Title: "Test notice from omoi", Text: "Notices of this rule arrive here.", Next: "omoi notice list", URL: s.cfg.PageURL(),
		})
	}
	if err != nil {
		return Test{State: "failed", Error: err.Error()}, nil //nolint:nilerr // the error is the result
	}
	return Test{State: "delivered"}, nil
}
