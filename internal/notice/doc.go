// Package notice notifies users outside omoi: of tasks by rules that users create, and the operator's webhook of diagnoses.
//
// Triggers of the database write a row of the table deliveries in the transaction of the change. [Service.Run] sends the rows until
// their receivers accept them, at least once and with the same delivery ID.
package notice
