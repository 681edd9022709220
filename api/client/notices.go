package client

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/notice"
)

// Parts of notices.
type (
	// NoticeRule notifies one receiver.
	NoticeRule = notice.Rule
	// NoticeTest is the result of a test notice.
	NoticeTest = notice.Test
)

// CreateNoticeRuleRequest is a rule to create.
type CreateNoticeRuleRequest struct {
	Channel   string   `json:"channel" enum:"webhook,slack,ntfy,email" doc:"How the receiver is notified: webhook, a signed POST; slack, an incoming webhook of Slack or a compatible program; ntfy, a topic of ntfy; email, an e-mail."`
	Address   string   `json:"address" doc:"URL of the receiver, at most 2,048 bytes; for email the e-mail address. No answer shows the path and the query of a URL."`
	Secret    string   `json:"secret,omitempty" doc:"Secret of 16 or more characters that signs webhooks, or access token of ntfy. No answer contains it. Default: none."`
	Events    []string `json:"events,omitempty" doc:"Events of which the receiver is notified: started, needs_you, done, failed, budget_near, limit_reached; alert, which only operators of the installation may name, with scope organization. Default: needs_you, done and failed."`
	Scope     string   `json:"scope,omitempty" enum:"user,organization" doc:"Whose tasks: user, those that the caller created; organization, those of all users, which needs the scope admin. Default: user."`
	ProjectID string   `json:"project_id,omitempty" doc:"ID or key of the project whose tasks the rule concerns. Default: all projects."`
}

// UpdateNoticeRuleRequest changes a rule. Absent fields stay unchanged.
type UpdateNoticeRuleRequest struct {
	Address *string   `json:"address,omitempty" doc:"New URL of the receiver; its secret, if the channel has one, must be sent again."`
	Secret  *string   `json:"secret,omitempty" doc:"New secret or access token."`
	Events  *[]string `json:"events,omitempty" doc:"New events, one or more."`
	Enabled *bool     `json:"enabled,omitempty" doc:"False: the rule makes no notices, and sends none."`
}

// Notice is one notice to one receiver.
type Notice struct {
	RuleID    string           `json:"rule_id" doc:"Rule that made the notice."`
	Channel   string           `json:"channel" doc:"How the receiver is notified."`
	Receiver  string           `json:"receiver" doc:"Address of the receiver without its secret parts."`
	TaskID    string           `json:"task_id" doc:"Task that the notice is about. Empty: the notice is an alert."`
	TaskKey   string           `json:"task_key" doc:"Key of that task, for example APP-12. Empty: the notice is an alert."`
	Event     string           `json:"event" doc:"What happened: started, needs_you, done, failed, budget_near, limit_reached or alert. More values may be added."`
	Title     string           `json:"title" doc:"First line of the notice."`
	Delivery  explain.Delivery `json:"delivery" doc:"Delivery of the notice to its receiver."`
	CreatedAt time.Time        `json:"created_at" doc:"When the task changed."`

	ID string `json:"-"` // of the delivery
}

// NoticeQuery selects notices; a nil filter selects all.
type NoticeQuery struct {
	RuleIDs []string `query:"rule_id,explode" doc:"Only notices of one of these rules; default: all."`
	TaskIDs []string `query:"task_id,explode" doc:"Only notices of one of these tasks; default: all."`
	PageRequest

	UserID string // the caller
}

// NoticeRules lists the rules that the caller can see.
func (c *Client) NoticeRules(ctx context.Context) ([]NoticeRule, error) {
	return all[NoticeRule](ctx, c, prefix+"/notice-rules")
}

// CreateNoticeRule creates a rule.
func (c *Client) CreateNoticeRule(ctx context.Context, in CreateNoticeRuleRequest) (NoticeRule, error) {
	return answer[NoticeRule](ctx, c, call{method: http.MethodPost, path: prefix + "/notice-rules", body: in})
}

// UpdateNoticeRule changes a rule.
func (c *Client) UpdateNoticeRule(ctx context.Context, id string, in UpdateNoticeRuleRequest) (NoticeRule, error) {
	return answer[NoticeRule](ctx, c, call{method: http.MethodPatch, path: item("notice-rules", id), body: in})
}

// DeleteNoticeRule deletes a rule with its notices.
func (c *Client) DeleteNoticeRule(ctx context.Context, id string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: item("notice-rules", id)}, nil)
	return err
}

// TestNoticeRule sends a test notice.
func (c *Client) TestNoticeRule(ctx context.Context, id string) (NoticeTest, error) {
	return answer[NoticeTest](ctx, c, call{method: http.MethodPost, path: item("notice-rules", id, "test")})
}

// Notices returns the newest notices, of a rule or a task if their ID is not empty.
func (c *Client) Notices(ctx context.Context, ruleID, taskID string, limit int) (Page[Notice], error) {
	q := query("rule_id", ruleID, "task_id", taskID)
	q.Set("limit", strconv.Itoa(limit))
	return answer[Page[Notice]](ctx, c, call{path: prefix + "/notices", query: q})
}
