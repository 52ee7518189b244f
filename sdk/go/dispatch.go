package host

import "errors"

// Handler takes all hooks in one method. Its error gives up on the event: the decisions of the call are dropped, the
// callback is made anew with its last good state, and its failure policy counts one more.
type Handler interface {
	Handle(event *Event, answer *Answer) error
}

// handle calls the method of the event's hook, where the callback has it:
//
//	func (callback *LossCeiling) StepEnd(event *Event, answer *Answer) error
func (it *component) handle(event *Event, answer *Answer) error {
	if it.callback == nil {
		return errors.New("called before start")
	}
	if handler, has := it.callback.(Handler); has {
		return handler.Handle(event, answer)
	}
	switch event.Hook {
	case TrainBegin:
		if handler, has := it.callback.(interface {
			TrainBegin(event *Event, answer *Answer) error
		}); has {
			return handler.TrainBegin(event, answer)
		}
	case EpochBegin:
		if handler, has := it.callback.(interface {
			EpochBegin(event *Event, answer *Answer) error
		}); has {
			return handler.EpochBegin(event, answer)
		}
	case StepBegin:
		if handler, has := it.callback.(interface {
			StepBegin(event *Event, answer *Answer) error
		}); has {
			return handler.StepBegin(event, answer)
		}
	case Gradients:
		if handler, has := it.callback.(interface {
			Gradients(event *Event, answer *Answer) error
		}); has {
			return handler.Gradients(event, answer)
		}
	case StepEnd:
		if handler, has := it.callback.(interface {
			StepEnd(event *Event, answer *Answer) error
		}); has {
			return handler.StepEnd(event, answer)
		}
	case EvaluateBegin:
		if handler, has := it.callback.(interface {
			EvaluateBegin(event *Event, answer *Answer) error
		}); has {
			return handler.EvaluateBegin(event, answer)
		}
	case EvaluateEnd:
		if handler, has := it.callback.(interface {
			EvaluateEnd(event *Event, answer *Answer) error
		}); has {
			return handler.EvaluateEnd(event, answer)
		}
	case LogRecord:
		if handler, has := it.callback.(interface {
			LogRecord(event *Event, answer *Answer) error
		}); has {
			return handler.LogRecord(event, answer)
		}
	case SaveBegin:
		if handler, has := it.callback.(interface {
			SaveBegin(event *Event, answer *Answer) error
		}); has {
			return handler.SaveBegin(event, answer)
		}
	case SaveEnd:
		if handler, has := it.callback.(interface {
			SaveEnd(event *Event, answer *Answer) error
		}); has {
			return handler.SaveEnd(event, answer)
		}
	case EpochEnd:
		if handler, has := it.callback.(interface {
			EpochEnd(event *Event, answer *Answer) error
		}); has {
			return handler.EpochEnd(event, answer)
		}
	case Failure:
		if handler, has := it.callback.(interface {
			Failure(event *Event, answer *Answer) error
		}); has {
			return handler.Failure(event, answer)
		}
	case TrainEnd:
		if handler, has := it.callback.(interface {
			TrainEnd(event *Event, answer *Answer) error
		}); has {
			return handler.TrainEnd(event, answer)
		}
	}
	return nil
}
