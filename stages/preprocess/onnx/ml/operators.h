// The operators of the domain ai.onnx.ml, except CastMap, are replaced by canonical nodes at
// import. There is one row of the table (table.cc) and one file for each.
#pragma once

#include "stages/preprocess/onnx/expand_row.h"

namespace sluice {

// Returns null when it is not in the table.
const ExpandRow* find_ml_operator(std::string_view name);

Result<void> expand_array_feature_extractor(ExpandCall& call);
Result<void> expand_binarizer(ExpandCall& call);
Result<void> expand_category_mapper(ExpandCall& call);
Result<void> expand_dict_vectorizer(ExpandCall& call);
Result<void> expand_feature_vectorizer(ExpandCall& call);
Result<void> expand_imputer(ExpandCall& call);
Result<void> expand_label_encoder(ExpandCall& call);
Result<void> expand_linear_classifier(ExpandCall& call);
Result<void> expand_linear_regressor(ExpandCall& call);
Result<void> expand_normalizer(ExpandCall& call);
Result<void> expand_one_hot_encoder(ExpandCall& call);
Result<void> expand_scaler(ExpandCall& call);
Result<void> expand_svm_classifier(ExpandCall& call);
Result<void> expand_svm_regressor(ExpandCall& call);
Result<void> expand_tree_ensemble(ExpandCall& call);
Result<void> expand_tree_ensemble_classifier(ExpandCall& call);
Result<void> expand_tree_ensemble_regressor(ExpandCall& call);
Result<void> expand_zip_map(ExpandCall& call);

}  // namespace sluice
