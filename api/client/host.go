package client

import "time"

// Host is a machine that runs a worker and holds sandboxes.
type Host struct {
	ID         string     `json:"id" doc:"Host ID, which its worker keeps over restarts."`
	Name       string     `json:"name" doc:"Host name of the machine, for users; may be empty."`
	Version    string     `json:"version" doc:"Version of the worker that sent the last host heartbeat."`
	Providers  []string   `json:"providers" nullable:"false" doc:"Sandbox providers that the host offers, for example local and docker."`
	Agents     []string   `json:"agents" nullable:"false" doc:"Agent runtimes that local sandboxes of the host can run."`
	Capacity   *int       `json:"capacity" doc:"Maximum number of sandboxes; null: no limit."`
	SeenAt     time.Time  `json:"seen_at" doc:"Time of the last host heartbeat."`
	LostAt     *time.Time `json:"lost_at" doc:"When an operator marked the host as lost; null: not lost. A later host heartbeat clears the mark."`
	Online     bool       `json:"online" doc:"true: the host sends heartbeats and is not marked as lost."`
	Running    int        `json:"running_sandboxes" doc:"Sandboxes on the host whose attempt runs."`
	Unverified int        `json:"unverified_sandboxes" doc:"Sandboxes on the host whose attempt has ended and whose deletion is not verified."`
	Lost       int        `json:"lost_sandboxes" doc:"Number of sandboxes that were lost with the host."`
}
