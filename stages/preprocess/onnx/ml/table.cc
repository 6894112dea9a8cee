#include <algorithm>

#include "common/ops/attribute_rows.h"
#include "stages/preprocess/onnx/ml/operators.h"

namespace sluice {
namespace attribute_rows::ml {

#include "common/ops/attribute_rows.inc"
#include "stages/preprocess/onnx/ml/attributes.def"

}  // namespace attribute_rows::ml

namespace {

namespace rows = attribute_rows::ml;

constexpr ExpandRow kRows[] = {
    {"ArrayFeatureExtractor", "X Y", "Z", {}, expand_array_feature_extractor},
    {"Binarizer", "X", "Y", rows::Binarizer, expand_binarizer},
    {"CategoryMapper", "X", "Y", rows::CategoryMapper, expand_category_mapper},
    {"DictVectorizer", "X", "Y", rows::DictVectorizer, expand_dict_vectorizer},
    {"FeatureVectorizer", "X ...", "Y", rows::FeatureVectorizer, expand_feature_vectorizer},
    {"Imputer", "X", "Y", rows::Imputer, expand_imputer},
    {"LabelEncoder", "X", "Y", rows::LabelEncoder, expand_label_encoder},
    {"LinearClassifier", "X", "Y Z?", rows::LinearClassifier, expand_linear_classifier},
    {"LinearRegressor", "X", "Y", rows::LinearRegressor, expand_linear_regressor},
    {"Normalizer", "X", "Y", rows::Normalizer, expand_normalizer},
    {"OneHotEncoder", "X", "Y", rows::OneHotEncoder, expand_one_hot_encoder},
    {"SVMClassifier", "X", "Y Z?", rows::SVMClassifier, expand_svm_classifier},
    {"SVMRegressor", "X", "Y", rows::SVMRegressor, expand_svm_regressor},
    {"Scaler", "X", "Y", rows::Scaler, expand_scaler},
    {"TreeEnsemble", "X", "Y", rows::TreeEnsemble, expand_tree_ensemble},
    {"TreeEnsembleClassifier", "X", "Y Z?", rows::TreeEnsembleClassifier,
     expand_tree_ensemble_classifier},
    {"TreeEnsembleRegressor", "X", "Y", rows::TreeEnsembleRegressor,
     expand_tree_ensemble_regressor},
    {"ZipMap", "X", "Z", rows::ZipMap, expand_zip_map},
};
static_assert(std::is_sorted(std::begin(kRows), std::end(kRows),
                             [](const auto& a, const auto& b) { return a.name < b.name; }));

}  // namespace

const ExpandRow* find_ml_operator(std::string_view name) {
  const auto* row = std::ranges::lower_bound(kRows, name, std::ranges::less(), &ExpandRow::name);
  return row == std::end(kRows) || row->name != name ? nullptr : row;
}

}  // namespace sluice
