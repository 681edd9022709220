package config

import "time"

// Transport says how agents report: they push to the API, or a worker pulls what they have
// spooled out of their sandboxes.
type Transport struct {
	Local    string        `key:"local" default:"auto" oneof:"auto push pull" doc:"Of local sandboxes: auto is push, by the API's socket where they have no network, and under omoi dev."`
	Docker   string        `key:"docker" default:"auto" oneof:"auto push pull" doc:"Of Docker sandboxes: auto is push."`
	Daytona  string        `key:"daytona" default:"auto" oneof:"auto push pull" doc:"Of Daytona sandboxes: auto is pull where api.callback_url is an address that only this machine or its network reaches, or where sandbox.network is none, else push."`
	Interval time.Duration `key:"interval" default:"1s" min:"10ms" max:"1m" doc:"Pull: how often the sandbox of a quiet agent is looked into; that of a busy one up to 8 times as often."`
}
