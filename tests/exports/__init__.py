"""Exports of other programs, made for tests: `shapes` has one of each form that is known, `generator` as much as one
wants. Their forms are those that :mod:`bot.app.archive.foreign` names its sources for."""
