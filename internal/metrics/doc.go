// Package metrics counts what omoi does, and shows it to Prometheus. A process has one
// [Metrics]; the parts that count declare what they need of it as interfaces of their own,
// and hold counters that are looked up once, so that counting costs a few atomic additions.
//
// The names in names.go are a contract: dashboards and alarms are built on them. They are
// only added to. No label names a task, a project or anything that a person wrote.
package metrics
