package taskcmd

import (
	"cmp"
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/cli/exit"
	"github.com/omoi-dev/omoi/internal/cli/render"
	"github.com/omoi-dev/omoi/internal/notice"
	"github.com/omoi-dev/omoi/internal/task"
)

func newNotice(s *session) *cobra.Command {
	cmd := noun("notice", "Notify Slack, a phone or another system of tasks",
		s.noticeCreate(), listVerb(s, "List the rules for notices", (*client.Client).NoticeRules, s.noticeTable), s.noticeUpdate(),
		s.noticeTest(), s.noticeDelete(), s.noticeDeliveries())
	cmd.Long = "Notify receivers outside omoi of tasks (docs/NOTICES.md). A rule names a receiver, and the events of which it is notified."
	return cmd
}

func (s *session) noticeTable(rules []client.NoticeRule) {
	heading := "RULE|CHANNEL|RECEIVER|TASKS|EVENTS|STATE|PENDING"
	list(s, rules, "No rules. Next: omoi notice create slack", heading, func(r client.NoticeRule) []string {
		return []string{
			render.Short(r.ID), r.Channel, render.OneLine(r.Receiver, 60), noticeTasks(r), strings.Join(r.Events, ","), noticeState(r),
			strconv.Itoa(r.Pending),
		}
	})
}

// noticeTasks renders whose tasks a rule concerns.
func noticeTasks(r client.NoticeRule) string {
	whose := "yours"
	if r.Scope == notice.ScopeOrganization {
		whose = "all"
	}
	if r.ProjectID != "" {
		whose += " of project " + render.Short(r.ProjectID)
	}
	return whose
}

func noticeState(r client.NoticeRule) string {
	switch {
	case !r.Enabled:
		return "disabled"
	case r.RetryAt != nil:
		return "failed " + task.Count(r.Failures, "time") + ", retry at " + r.RetryAt.Local().Format(time.TimeOnly) + ": " + render.OneLine(r.Error, 100)
	}
	return "ok"
}

func (s *session) noticeCreate() *cobra.Command {
	var in client.CreateNoticeRuleRequest
	project, organization := "", false
	cmd := s.verb("create <channel>", "Create a rule; type its address, or pipe it in", channelArg,
		func(ctx context.Context, api *client.Client, args []string) error {
			in.Channel = args[0]
			if organization {
				in.Scope = notice.ScopeOrganization
			}
			if project != "" {
				p, err := projectOf(ctx, api, project)
				if err != nil {
					return err
				}
				in.ProjectID = p.ID
			}
			var err error
			if in.Address, in.Secret, err = s.noticeAddress(ctx, in.Channel); err != nil {
				return err
			}
			made := ""
			if in.Channel == notice.ChannelWebhook && in.Secret == "" {
				made = rand.Text()
				in.Secret = made
			}
			r, err := api.CreateNoticeRule(ctx, in)
			return s.answer(r, err, func() {
				s.say("%s  %s  %s  %s", render.Short(r.ID), r.Channel, render.Clean(r.Receiver), strings.Join(r.Events, ","))
				if made != "" {
					s.note("Secret of the signature, which is not shown again: %s", made)
				}
				s.hint("Next: omoi notice test %s", render.Short(r.ID))
			})
		})
	cmd.Long = `Create a rule. The channel is webhook, slack, ntfy or email. The command asks for the address, or reads it from standard input,
since an address may be a secret. After the address and a blank, a secret may follow: it signs webhooks, or is the access
token of ntfy. Without it, the command creates one for webhooks and prints it.`
	cmd.Flags().StringSliceVar(&in.Events, "event", nil, "`event` of which the receiver is notified: "+strings.Join(notice.Events(), ", ")+" (default needs_you,done,failed)")
	cmd.Flags().StringVar(&project, "project", "", "only tasks of this `project` (default: all)")
	cmd.Flags().BoolVar(&organization, "organization", false, "tasks of all users (scope admin; default: yours)")
	return cmd
}

// channelArg refuses an address as an argument: other processes can read command lines.
func channelArg(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return exit.Usagef("%s takes only a channel: other users can read an address on a command line. Next: type the address when asked, or pipe it in", cmd.CommandPath())
	}
	return exactly(1, "a channel: webhook, slack, ntfy or email")(cmd, args)
}

// noticeAddress reads an address, and a secret after a blank.
func (s *session) noticeAddress(ctx context.Context, channel string) (address, secret string, err error) {
	text, err := s.secret(ctx, "address of "+channel)
	parts := strings.Fields(text)
	if err == nil && len(parts) > 2 {
		err = exit.Usagef("the input has %d words: expected an address, and a secret if it has one", len(parts))
	}
	if err != nil {
		return "", "", err
	}
	return parts[0], strings.Join(parts[1:], ""), nil
}

func noticeRuleOf(ctx context.Context, api *client.Client, ref string) (client.NoticeRule, error) {
	rules, err := api.NoticeRules(ctx)
	if err != nil {
		return client.NoticeRule{}, err
	}
	return kind[client.NoticeRule]{noun: "rule", list: "omoi notice list", id: func(r client.NoticeRule) string { return r.ID }}.pick(rules, ref)
}

// ruleVerb returns a command about one rule.
func (s *session) ruleVerb(use, short string, do func(context.Context, *client.Client, client.NoticeRule) error) *cobra.Command {
	return s.verb(use+" <rule>", short, exactly(1, "a rule: its ID, or 4 or more characters of it"), about(noticeRuleOf, do))
}

func (s *session) noticeUpdate() *cobra.Command {
	var events []string
	var enabled, address bool
	var cmd *cobra.Command
	cmd = s.ruleVerb("update", "Change the events or the address of a rule", func(ctx context.Context, api *client.Client, r client.NoticeRule) error {
		in := client.UpdateNoticeRuleRequest{Events: changed(cmd, "event", &events), Enabled: changed(cmd, "enabled", &enabled)}
		if address {
			to, secret, err := s.noticeAddress(ctx, r.Channel)
			if err != nil {
				return err
			}
			in.Address, in.Secret = &to, &secret
		}
		r, err := api.UpdateNoticeRule(ctx, r.ID, in)
		return s.answer(r, err, func() { s.noticeTable([]client.NoticeRule{r}) })
	})
	cmd.Flags().StringSliceVar(&events, "event", nil, "`event` of which the receiver is notified; replaces all events of the rule")
	cmd.Flags().BoolVar(&enabled, "enabled", true, "false: the rule makes no notices, and sends none")
	cmd.Flags().BoolVar(&address, "address", false, "ask for a new address, and its secret after a blank")
	return cmd
}

func (s *session) noticeTest() *cobra.Command {
	return s.ruleVerb("test", "Send a test notice", func(ctx context.Context, api *client.Client, r client.NoticeRule) error {
		result, err := api.TestNoticeRule(ctx, r.ID)
		err = s.answer(result, err, func() {
			s.say("%s", strings.TrimSpace(result.State+" "+render.Clean(result.Error)))
		})
		if err == nil && result.Error != "" {
			err = exit.With(exit.Failed, nil)
		}
		return err
	})
}

func (s *session) noticeDelete() *cobra.Command {
	return s.ruleVerb("delete", "Delete a rule and its notices", func(ctx context.Context, api *client.Client, r client.NoticeRule) error {
		err := api.DeleteNoticeRule(ctx, r.ID)
		return s.answer(map[string]string{"id": r.ID, "state": "deleted"}, err, func() {
			s.say("Deleted rule %s (%s).", render.Short(r.ID), r.Channel)
		})
	})
}

func (s *session) noticeDeliveries() *cobra.Command {
	var rule, of string
	limit := 0
	cmd := s.verb("deliveries", "List the newest notices and their delivery", NoArgs,
		func(ctx context.Context, api *client.Client, _ []string) error {
			ruleID, taskID := "", ""
			if rule != "" {
				r, err := noticeRuleOf(ctx, api, rule)
				if err != nil {
					return err
				}
				ruleID = r.ID
			}
			if of != "" {
				t, err := s.taskOf(ctx, api, of)
				if err != nil {
					return err
				}
				taskID = t.ID
			}
			page, err := api.Notices(ctx, ruleID, taskID, limit)
			return s.answer(page, err, func() { s.showNotices(page.Items) })
		})
	cmd.Flags().StringVar(&rule, "rule", "", "only notices of this `rule`")
	cmd.Flags().StringVar(&of, "task", "", "only notices of this `task`")
	cmd.Flags().IntVar(&limit, "limit", 20, "maximum `number` of notices, 1 to 500")
	return cmd
}

func (s *session) showNotices(notices []client.Notice) {
	list(s, notices, "No notices.", "CREATED|TASK|EVENT|CHANNEL|RECEIVER|STATE|TRIES|ERROR", func(n client.Notice) []string {
		return []string{
			moment(&n.CreatedAt), n.TaskKey, n.Event, n.Channel, render.OneLine(n.Receiver, 60), n.Delivery.State, strconv.Itoa(n.Delivery.Attempts),
			cmp.Or(render.OneLine(n.Delivery.Error, 100), "-"),
		}
	})
}
